import type { GroupSpec, GroupStatus, Handle, RoundFigures, RuleChange } from '../../src/engine/contract.js'
import { ArbalestError } from '../../src/errors.js'
import { memory } from './shared-memory.js'

const MEMBERS = 16
const RATES = 4096
const RESTARTS = 64
const LOSSES = 65_536
/** Rounds whose figures are kept. */
const RECORDS = 1024
/** Of a record: the round's number + 1, its first iteration, seconds, sum and count of its losses, and a distance for each member. */
const RECORD = { round: 0, iteration: 1, seconds: 2, lossSum: 3, losses: 4, distances: 5, size: 5 + MEMBERS } as const
const HEADER = 32
const NEVER = Infinity

/** Offsets of a group's numbers from its handle. */
const AT = {
  elements: 0,
  batch: 1,
  period: 2,
  alpha: 3,
  mu: 4,
  round: 5,
  pause: 6,
  end: 7,
  stopped: 8,
  notFiniteAt: 9,
  position: 10,
  rateCount: 11,
  restartCount: 12,
  opened: 13,
  /** The round from which the present period holds, and its first iteration. */
  periodRound: 14,
  periodIteration: 15,
  recording: 16,
  members: HEADER,
  rates: HEADER + MEMBERS * 4,
  restarts: HEADER + MEMBERS * 4 + RATES,
  lossSums: HEADER + MEMBERS * 4 + RATES + RESTARTS,
  lossCounts: HEADER + MEMBERS * 4 + RATES + RESTARTS + LOSSES,
  records: HEADER + MEMBERS * 4 + RATES + RESTARTS + 2 * LOSSES,
  vectors: HEADER + MEMBERS * 4 + RATES + RESTARTS + 2 * LOSSES + RECORDS * RECORD.size
} as const

interface Member {
  readonly active: number
  /** Whole iterations since the group's first. */
  readonly iterations: number
  /** Whether it takes the central model before its next step. */
  readonly fresh: number
  /** The last round in which its correction is in place. */
  readonly arrived: number
}

/** What a member does next: it runs an iteration, waits, or pauses. */
export type Turn =
  | {
      readonly kind: 'step'
      readonly rate: number
      readonly alpha: number
      readonly fresh: boolean
      readonly corrects: boolean
      readonly iteration: number
    }
  | { readonly kind: 'waiting' | 'paused' | 'evicted' | 'cancelled' }

/** The parameters of synchronous model averaging, the only rule here. */
function averaging({ rule, average }: GroupSpec): { period: number; alpha: number | null; momentum: number } {
  if (rule.kind !== 'synchronous' || rule.central.kind !== 'sma' || rule.from > 0 || rule.adopts || average)
    throw new ArbalestError('UNSUPPORTED_OPERATOR', 'fake engine: it has synchronous model averaging only')
  return { period: rule.period, ...rule.central }
}

/**
 * The group protocol of synchronous model averaging on plain numbers: the same rounds, positions and averages as the engine's, with one lock
 * instead of overlap. It has no other rule and no evaluation average.
 */
export class FakeGroup {
  readonly #at: number
  readonly #numbers = memory.numbers

  constructor(handle: Handle) {
    this.#at = handle
  }

  static create(spec: GroupSpec): Handle {
    const { elements } = spec.layout
    const handle = memory.allocate(AT.vectors + (2 + MEMBERS) * elements)
    const group = new FakeGroup(handle)
    const { period, alpha, momentum } = averaging(spec)
    Object.entries({ elements, batch: spec.batch, period, alpha: alpha ?? 0, mu: momentum }).forEach(([key, value]) =>
      group.#set(AT[key as 'batch'], value)
    )
    group.#set(AT.pause, NEVER)
    group.#set(AT.end, NEVER)
    group.#set(AT.notFiniteAt, -1)
    group.#set(AT.opened, -1)
    group.central.set(spec.initial)
    group.#before.set(spec.initial)
    return handle
  }

  get elements(): number {
    return this.#get(AT.elements)
  }

  get batch(): number {
    return this.#get(AT.batch)
  }

  get central(): Float64Array {
    return this.#vector(0)
  }

  get #before(): Float64Array {
    return this.#vector(1)
  }

  correction(learner: number): Float64Array {
    return this.#vector(2 + learner)
  }

  join(learner: number): number {
    if (this.#member(learner).active) throw new Error(`learner ${learner} is a member already`)
    const round = this.#get(AT.opened) + 1
    this.#setMember(learner, { active: 1, iterations: this.#firstIteration(round), fresh: 1, arrived: -1 })
    return round
  }

  evict(learner: number): void {
    this.#setMember(learner, { active: 0 })
    this.#averageIfAllArrived()
    // A round that all members have left changes nothing, but it is still counted.
    const taken = (round: number) => this.#members().some((each) => this.#roundOf(each) <= round || this.#member(each).arrived >= round)
    while (this.#get(AT.round) <= this.#get(AT.opened) && !taken(this.#get(AT.round))) this.#set(AT.round, this.#get(AT.round) + 1)
  }

  /** Stored as pairs: an iteration, and the rate from it on. */
  setLearningRates(from: number, rates: Float32Array): void {
    const kept = this.#rates().filter(([iteration]) => iteration < from)
    const pairs = [...kept, ...[...rates].map((rate, i): [number, number] => [from + i, rate])]
    this.#numbers.set(pairs.flat(), this.#at + AT.rates)
    this.#set(AT.rateCount, pairs.length)
  }

  #rates(): [iteration: number, rate: number][] {
    return Array.from({ length: this.#get(AT.rateCount) }, (_, i) => [this.#get(AT.rates + 2 * i), this.#get(AT.rates + 2 * i + 1)])
  }

  setRestarts(rounds: readonly number[]): void {
    this.#numbers.set(rounds, this.#at + AT.restarts)
    this.#set(AT.restartCount, rounds.length)
  }

  setPause(round: number): void {
    this.#set(AT.pause, round === NEVER ? NEVER : Math.max(round, this.#get(AT.opened) + 1))
  }

  extendPause(round: number): boolean {
    const inProgress = this.#get(AT.round) <= this.#get(AT.opened)
    if (!inProgress && this.#get(AT.round) >= this.#get(AT.pause)) return false
    this.setPause(round)
    return true
  }

  setEnd(iterations: number): void {
    this.#set(AT.end, iterations)
  }

  setRule({ alpha, momentum, period }: RuleChange): void {
    if (this.#get(AT.round) <= this.#get(AT.opened)) throw new ArbalestError('INVALID_STATE', 'fake engine: a round is in progress')
    if (alpha !== undefined) this.#set(AT.alpha, alpha ?? 0)
    if (momentum !== undefined) this.#set(AT.mu, momentum)
    if (period === undefined) return
    const round = this.#get(AT.round)
    this.#set(AT.periodIteration, this.#firstIteration(round))
    this.#set(AT.periodRound, round)
    this.#set(AT.period, period)
  }

  stop(): void {
    this.#set(AT.stopped, 1)
  }

  status(): GroupStatus {
    const round = this.#get(AT.round)
    const members = this.#members()
    return {
      round,
      iterations: this.#wholeIterations(),
      position: this.#get(AT.position),
      members,
      arrived: members.filter((learner) => this.#member(learner).arrived >= round),
      notFiniteAt: this.#get(AT.notFiniteAt)
    }
  }

  iterationOf(learner: number): number {
    const { active, iterations } = this.#member(learner)
    return active ? iterations : this.#wholeIterations()
  }

  losses(from: number): Float32Array {
    const whole = Array.from({ length: Math.max(0, this.#wholeIterations() - from) }, (_, i) => (from + i) % LOSSES)
    return Float32Array.from(whole, (i) => this.#get(AT.lossSums + i) / this.#get(AT.lossCounts + i))
  }

  /** Rounds that members left before they were over are missing. The first call starts the recording. */
  roundFigures(after: number): readonly RoundFigures[] {
    this.#set(AT.recording, 1)
    const figures: RoundFigures[] = []
    for (let round = Math.max(0, after + 1, this.#get(AT.round) - RECORDS); round < this.#get(AT.round); round++) {
      const at = this.#record(round)
      if (this.#get(at) !== round + 1) continue
      const distances = Array.from({ length: MEMBERS }, (_, learner) => this.#get(at + RECORD.distances + learner))
      figures.push({
        round,
        iteration: this.#get(at + RECORD.iteration),
        began: this.#get(at + RECORD.seconds),
        seconds: this.#get(at + RECORD.seconds),
        averaged: 0,
        loss: this.#get(at + RECORD.lossSum) / this.#get(at + RECORD.losses),
        members: distances.flatMap((distance, learner) => (distance < 0 ? [] : [{ learner, distance, waited: 0 }]))
      })
    }
    return figures
  }

  #record(round: number): number {
    return AT.records + (round % RECORDS) * RECORD.size
  }

  #recordStep(round: number, learner: number, loss: number, distance: number): void {
    if (!this.#get(AT.recording)) return
    const at = this.#record(round)
    if (this.#get(at) !== round + 1) {
      const iteration = this.#firstIteration(round)
      this.#numbers.set([round + 1, iteration, 0, 0, 0, ...Array.from({ length: MEMBERS }, () => -1)], this.#at + at)
    }
    this.#set(at + RECORD.seconds, performance.now() / 1000)
    this.#set(at + RECORD.lossSum, this.#get(at + RECORD.lossSum) + loss)
    this.#set(at + RECORD.losses, this.#get(at + RECORD.losses) + 1)
    this.#set(at + RECORD.distances + learner, distance)
  }

  /** What this member may do now; a granted step must be reported before the next is asked for. */
  enter(learner: number): Turn {
    const { active, iterations, fresh } = this.#member(learner)
    if (!active) return { kind: 'evicted' }
    if (this.#get(AT.stopped)) return { kind: 'cancelled' }
    const end = this.#get(AT.end)
    const round = this.#roundAt(iterations)
    const whole = this.#get(AT.round) >= round
    const begins = iterations === this.#firstIteration(round)
    if (iterations >= end || (begins && round >= this.#get(AT.pause))) return { kind: whole ? 'paused' : 'waiting' }
    const anew = begins && (fresh === 1 || this.#restarts(round))
    const corrects = iterations + 1 === this.#firstIteration(round + 1) || iterations + 1 === end
    if ((anew || corrects) && !whole) return { kind: 'waiting' }
    this.#set(AT.opened, Math.max(round, this.#get(AT.opened)))
    this.#setMember(learner, { fresh: 0 })
    const rate = this.#rates().findLast(([from]) => from <= iterations)![1]
    const alpha = this.#get(AT.alpha) || Math.min(1 / this.#members().length, 1 / 2)
    return { kind: 'step', rate, alpha, fresh: anew, corrects, iteration: iterations }
  }

  /** The iteration is over, and its correction, if it had one, is written. `distance`: of the learner from the central model. */
  report(learner: number, { iteration, corrects: corrected }: Turn & { kind: 'step' }, loss: number, distance: number): void {
    if (!Number.isFinite(loss)) {
      if (this.#get(AT.notFiniteAt) < 0) this.#set(AT.notFiniteAt, iteration)
      return this.stop()
    }
    const slot = iteration % LOSSES
    this.#set(AT.lossSums + slot, this.#get(AT.lossSums + slot) + loss)
    this.#set(AT.lossCounts + slot, this.#get(AT.lossCounts + slot) + 1)
    const round = this.#roundAt(iteration)
    this.#recordStep(round, learner, loss, distance)
    this.#setMember(learner, { iterations: iteration + 1, ...(corrected && { arrived: round }) })
    if (corrected) this.#averageIfAllArrived()
  }

  /** The round of a member's next iteration. A member that has just joined begins after the current round. */
  #roundOf(learner: number): number {
    return this.#roundAt(this.#member(learner).iterations)
  }

  #roundAt(iteration: number): number {
    return this.#get(AT.periodRound) + Math.floor((iteration - this.#get(AT.periodIteration)) / this.#get(AT.period))
  }

  #firstIteration(round: number): number {
    return this.#get(AT.periodIteration) + (round - this.#get(AT.periodRound)) * this.#get(AT.period)
  }

  #averageIfAllArrived(): void {
    const round = this.#get(AT.round)
    const arrived = (learner: number) => this.#member(learner).arrived >= round
    const members = this.#members().filter(arrived)
    if (members.length === 0 || this.#members().some((learner) => !arrived(learner) && this.#roundOf(learner) <= round)) return
    const still = round === 0 || this.#restarts(round)
    const { central } = this
    const before = this.#before
    for (let i = 0; i < central.length; i++) {
      const z = central[i]!
      const sum = members.reduce((total, learner) => total + this.correction(learner)[i]!, 0)
      central[i] = z + sum + (still ? 0 : this.#get(AT.mu) * (z - before[i]!))
      before[i] = z
    }
    const length = Math.min(this.#get(AT.period), this.#get(AT.end) - this.#firstIteration(round))
    this.#set(AT.position, this.#get(AT.position) + members.length * length * this.batch)
    this.#set(AT.round, round + 1)
  }

  #restarts(round: number): boolean {
    return this.#numbers.subarray(this.#at + AT.restarts, this.#at + AT.restarts + this.#get(AT.restartCount)).includes(round)
  }

  #wholeIterations(): number {
    const iterations = this.#members().map((learner) => this.#member(learner).iterations)
    return iterations.length === 0 ? 0 : Math.min(...iterations)
  }

  #members(): number[] {
    return Array.from({ length: MEMBERS }, (_, learner) => learner).filter((learner) => this.#member(learner).active)
  }

  #member(learner: number): Member {
    const [active, iterations, fresh, arrived] = this.#numbers.subarray(this.#at + AT.members + 4 * learner)
    return { active: active!, iterations: iterations!, fresh: fresh!, arrived: arrived! }
  }

  #setMember(learner: number, change: Partial<Member>): void {
    const { active, iterations, fresh, arrived } = { ...this.#member(learner), ...change }
    this.#numbers.set([active, iterations, fresh, arrived], this.#at + AT.members + 4 * learner)
  }

  #vector(index: number): Float64Array {
    const from = this.#at + AT.vectors + index * this.elements
    return this.#numbers.subarray(from, from + this.elements)
  }

  #get(field: number): number {
    return this.#numbers[this.#at + field]!
  }

  #set(field: number, value: number): void {
    this.#numbers[this.#at + field] = value
  }
}
