import type { RoundFigures } from '../engine/contract.js'
import type { EvaluatedEvent, FinishedEvent, JobEvent, RecordedEvent } from '../observe/events.js'
import type { PopulationStatus, SynchroniserStatus } from '../protocols/protocols.js'
import { BoundedCurve, type Merge } from './bounded-curve.js'
import { happeningOf } from './happenings.js'
import {
  isOver,
  STATES,
  VACANT,
  type CurvePoint,
  type CurveUpdate,
  type Happening,
  type LearnerState,
  type RunFacts,
  type RunUpdate
} from './page/wire.js'

/** The newest happenings of a run that are kept. */
const MOST_HAPPENINGS = 200
/** Places whose lanes are kept; a page cannot show more. */
const MOST_PLACES = 64

const PROGRESS: readonly Merge[] = ['last', 'last', 'mean', 'last', 'mean', 'last']
const EVALUATED: readonly Merge[] = ['last', 'last', 'last', 'last', 'last']
const PLACE: readonly Merge[] = ['last', 'last', 'most', 'mean', 'mean', 'mean']
const DEVICE: readonly Merge[] = ['last', 'mean']

/** What the actors of a run have told at one moment. */
export interface RunLook {
  readonly status: SynchroniserStatus
  readonly population: PopulationStatus
  readonly rounds: readonly RoundFigures[]
  readonly resident: number
  readonly heap: number
}

/** Of a run that has told nothing yet. */
const UNKNOWN: Omit<RunFacts, 'name' | 'began' | 'isLive'> = {
  differs: '',
  state: 'preparing',
  model: '',
  data: '',
  synchroniser: '',
  precision: '',
  batch: 0,
  seed: 0,
  parameters: 0,
  samples: 0,
  iterations: 0,
  iteration: 0,
  epoch: 0,
  round: 0,
  seconds: 0,
  loss: null,
  learningRate: null,
  imagesPerSecond: null,
  dataWait: null,
  testLoss: null,
  testAccuracy: null,
  testTopK: null,
  testPerplexity: null,
  testR2: null,
  testMae: null,
  learners: 0,
  isTuned: false,
  deaths: 0,
  places: [],
  hosts: 1,
  rule: null,
  memory: null,
  levels: null,
  exchange: null,
  sharing: null
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** All that a page shows of one run, in bounded memory: made from the run's events, and from looks at its actors while somebody watches. */
export class RunBoard {
  readonly id: string
  #options: Readonly<Record<string, unknown>> = {}
  readonly #facts: Mutable<RunFacts>
  readonly #curves = new Map<string, BoundedCurve>()
  #happenings: Happening[] = []
  #happened = 0
  #factsChanged = true
  #happeningsChanged = 0
  #devices = 1
  /** The newest time that was given, and the seconds by which such times went back. */
  #latest: number
  #putBack = 0
  /** The state before the silence for which it counts as interrupted. */
  #beforeSilence: RunFacts['state'] = 'preparing'
  /** The newest known shares of each learner's time. */
  readonly #known = new Map<number, { readonly waiting: number; readonly averaging: number }>()
  /** Deaths by place that the lanes have not shown yet. */
  readonly #died = new Set<number>()

  constructor(id: string, { name, began, isLive }: Pick<RunFacts, 'name' | 'began' | 'isLive'>) {
    this.id = id
    this.#latest = began
    this.#facts = { ...UNKNOWN, name, began, isLive }
  }

  get facts(): RunFacts {
    return this.#facts
  }

  /** The options of the run, as its first event lists them. */
  get options(): Readonly<Record<string, unknown>> {
    return this.#options
  }

  get isOver(): boolean {
    return isOver(this.#facts)
  }

  /** What tells this run from the others of the page. */
  distinguish(differs: string): void {
    if (differs !== this.#facts.differs) this.#set({ differs })
  }

  /** How a place of the population is now, in the columns of its lane. */
  place(place: number): CurvePoint | undefined {
    return this.#facts.places[place]
  }

  /** An event of the run; `now` in seconds since 1970. */
  take(event: RecordedEvent, now: number): void {
    const at = this.#secondsAt(now)
    // A pause or a long evaluation writes nothing either.
    if (this.#facts.state === 'interrupted') this.#set({ state: this.#beforeSilence })
    this.#change(event, at)
    const happening = happeningOf(event as JobEvent, at)
    if (!happening) return
    this.#happened++
    this.#happenings.push(happening)
    if (this.#happenings.length > MOST_HAPPENINGS) this.#happenings.shift()
  }

  /** How the actors are now. */
  look({ status, population, rounds, resident, heap }: RunLook, now: number): void {
    const at = this.#secondsAt(now)
    const { rule } = status
    const numbers = { ...('central' in rule ? rule.central : { exchange: rule.exchange.kind }), period: rule.period }
    this.#set({
      round: status.round,
      learners: population.learners,
      rule: { kind: 'central' in rule ? rule.central.kind : rule.kind, numbers: plain(numbers) },
      memory: this.#facts.memory && { ...this.#facts.memory, devices: this.#memoryBy(population.learners), resident, heap }
    })
    if (!this.isOver) this.#set({ state: status.paused ? 'paused' : 'training' })
    const figures = figuresByLearner(rounds)
    const present = new Set(population.places.map(({ learner }) => learner))
    for (const learner of this.#known.keys()) if (!present.has(learner)) this.#known.delete(learner)
    for (const { place, learner, state } of population.places) {
      // If no round ended since the last look, keep the previous shares.
      const { waiting, averaging, distance } = figures.get(learner ?? -1) ?? { ...this.#known.get(learner ?? -1), distance: null }
      if (learner !== null && waiting !== undefined) this.#known.set(learner, { waiting, averaging: averaging! })
      this.#lane(place, at, {
        learner,
        state: this.#died.delete(place) ? 'dead' : state,
        waiting: waiting ?? null,
        averaging: averaging ?? null,
        distance
      })
    }
    this.#vacate(population.places.length, at)
  }

  /** Which share of the device this job had since the last call, null if no job had turns, and how it is shared in words. */
  share(share: number | null, sharing: string, now: number): void {
    this.#curve('device', DEVICE).push([this.#secondsAt(now), share])
    this.#set({ sharing })
  }

  /** The log of the run ends here, and the run has not told of its end. The next event takes it back. */
  interrupt(): void {
    if (this.isOver) return
    this.#beforeSilence = this.#facts.state
    this.#set({ state: 'interrupted' })
  }

  whole(): RunUpdate {
    const curves = Object.fromEntries([...this.#curves].map(([name, curve]) => [name, curve.whole()]))
    return { id: this.id, facts: this.#facts, curves, happenings: this.#happeningsFrom(0) }
  }

  /** What has changed since the last call; undefined if nothing has. */
  takeChanges(): RunUpdate | undefined {
    const curves: Record<string, CurveUpdate> = {}
    for (const [name, curve] of this.#curves) {
      const changes = curve.takeChanges()
      if (changes) curves[name] = changes
    }
    const facts = this.#factsChanged && this.#facts
    const happenings = this.#happened > this.#happeningsChanged && this.#happeningsFrom(this.#happeningsChanged)
    const hasCurves = Object.keys(curves).length > 0
    this.#factsChanged = false
    this.#happeningsChanged = this.#happened
    if (!facts && !happenings && !hasCurves) return undefined
    return { id: this.id, ...(facts && { facts }), ...(hasCurves && { curves }), ...(happenings && { happenings }) }
  }

  #happeningsFrom(from: number): NonNullable<RunUpdate['happenings']> {
    const first = Math.max(from, this.#happened - this.#happenings.length)
    return { from: first, items: this.#happenings.slice(first - this.#happened + this.#happenings.length) }
  }

  /** Since the run began. Where the clock is put back, the seconds go on from where they were: curves and lanes run along them. */
  #secondsAt(now: number): number {
    this.#putBack += Math.max(0, this.#latest - now)
    this.#latest = now
    return now - this.#facts.began + this.#putBack
  }

  #change(event: RecordedEvent, at: number): void {
    switch (event.event) {
      case 'run': {
        this.#options = Object(event.options) as Readonly<Record<string, unknown>>
        const { devices, population } = this.#options as {
          devices?: { devices?: readonly unknown[] }
          population?: { tuning?: unknown }
        }
        this.#devices = devices?.devices?.length ?? 1
        return this.#set({ isTuned: population?.tuning !== undefined })
      }
      case 'started': {
        const { event: _, bytesPerLearner, bytesShared, hosts = 1, ...known } = event
        const { recomputedBytes, movedBytes = 0, predictedSlowdown: slowdown = 1 } = event
        const { model, data, learners, batch, precision, synchroniser, seed, parameters, samples, iterations } = known
        if (!this.#facts.isLive) this.#set({ name: `${model} on ${data}, ${this.id}` })
        this.#set({
          state: 'training',
          model,
          data,
          learners,
          batch,
          precision,
          synchroniser,
          seed,
          parameters,
          samples,
          iterations,
          hosts
        })
        const one = { learners, learnerBytes: bytesPerLearner, sharedBytes: bytesShared }
        const restored = recomputedBytes === undefined ? null : { recomputedBytes, movedBytes, slowdown }
        this.#set({ memory: { devices: [one], resident: null, heap: null, restored } })
        this.#set({ memory: { ...this.#facts.memory!, devices: this.#memoryBy(learners) } })
        return this.#lanes(at, learners, 'training')
      }
      case 'levels': {
        const { devices, levels: names, measured, reason } = event
        return this.#set({ levels: { devices, names, measured, reason } })
      }
      case 'exchange':
        return this.#set({ exchange: `Hosts sum by exchange ${event.mode}: ${event.reason}` })
      case 'progress': {
        const { iteration, iterations, epoch, loss, learningRate, imagesPerSecond, learners, dataWait, seconds } = event
        this.#curve('progress', PROGRESS).push([iteration, at, loss, learningRate, imagesPerSecond, learners])
        return this.#set({ iteration, iterations, epoch, loss: orNull(loss), learningRate, imagesPerSecond, learners, dataWait, seconds })
      }
      case 'evaluated': {
        const measured = measuredIn(event)
        const { testLoss, testAccuracy, testR2 } = measured
        this.#curve('evaluated', EVALUATED).push([event.iteration, at, testLoss, testAccuracy, testR2])
        return this.#set(measured)
      }
      case 'learnerLost': {
        this.#set({ deaths: this.#facts.deaths + 1 })
        this.#died.add(event.rank)
        return this.#facts.isLive ? undefined : this.#lane(event.rank, at, { learner: event.learner, state: 'dead' })
      }
      case 'population': {
        const { to: learners, iterations } = event
        this.#set({
          learners,
          iterations,
          ...(this.#facts.memory && { memory: { ...this.#facts.memory, devices: this.#memoryBy(learners) } })
        })
        return this.#lanes(at, learners, 'training')
      }
      case 'hostLost':
        this.#set({ hosts: event.hosts, learners: event.learners, iterations: event.iterations })
        if (this.#facts.memory) this.#set({ memory: { ...this.#facts.memory, devices: this.#memoryBy(event.learners) } })
        return this.#lanes(at, event.learners, 'training')
      case 'intervened': {
        const { intervention } = event
        if (intervention.kind === 'join' && !this.#facts.isLive) this.#lane(intervention.place, at, { state: 'training' })
        if (intervention.kind === 'resize') this.#lanes(at, intervention.learners, 'training')
        return
      }
      case 'wentBack':
        return this.#known.clear()
      case 'finished': {
        const { reason, imagesPerSecond, iterations: iteration, seconds, epochs: epoch } = event
        this.#rest(at)
        const state = reason === 'stopped' ? 'stopped' : 'completed'
        return this.#set({ state, ...measuredIn(event), imagesPerSecond, iteration, seconds, epoch })
      }
      case 'failed':
        this.#rest(at)
        return this.#set({ state: 'failed' })
      default:
    }
  }

  /** All lanes of a run whose actors are not looked at. */
  #lanes(at: number, learners: number, state: LearnerState): void {
    if (this.#facts.isLive) return
    for (let place = 0; place < Math.min(learners, MOST_PLACES); place++) this.#lane(place, at, { state })
    this.#vacate(learners, at)
  }

  /** The run is over, and its learners rest. */
  #rest(at: number): void {
    for (const [place, [, learner = null, state]] of this.#facts.places.entries())
      if (state !== VACANT) this.#lane(place, at, { learner, state: 'resting' })
  }

  /** The population has become smaller: from this place on there are no learners any more. */
  #vacate(from: number, at: number): void {
    const { places } = this.#facts
    for (let place = from; place < places.length; place++) if (places[place]![2] !== VACANT) this.#lane(place, at, { state: 'vacant' })
  }

  #lane(place: number, at: number, { learner = null, state, waiting = null, averaging = null, distance = null }: LaneFigures): void {
    if (place >= MOST_PLACES) return
    const point = [at, learner, STATES.indexOf(state), waiting, averaging, distance].map(orNull)
    this.#curve(`place ${place}`, PLACE).push(point)
    const places = [...this.#facts.places]
    // A log may tell of a learner in a place whose neighbours it has not told of.
    while (places.length < place) places.push([at, null, VACANT, null, null, null])
    places[place] = point
    this.#set({ places })
  }

  /** Of the first host, whose memory is told. Learners take the hosts in turn, and there the devices. */
  #memoryBy(all: number): NonNullable<RunFacts['memory']>['devices'] {
    const learners = Math.ceil(all / this.#facts.hosts)
    const { learnerBytes = 0, sharedBytes = 0 } = this.#facts.memory?.devices[0] ?? {}
    return Array.from({ length: this.#devices }, (_, device) => {
      const own = Math.floor((learners + this.#devices - 1 - device) / this.#devices)
      return { learners: own, learnerBytes, sharedBytes }
    })
  }

  #curve(name: string, merges: readonly Merge[]): BoundedCurve {
    const found = this.#curves.get(name) ?? new BoundedCurve(merges)
    this.#curves.set(name, found)
    return found
  }

  #set(facts: Partial<RunFacts>): void {
    Object.assign(this.#facts, facts)
    this.#factsChanged = true
  }
}

type MeasuredFacts = Pick<RunFacts, 'testLoss' | 'testAccuracy' | 'testTopK' | 'testPerplexity' | 'testR2' | 'testMae'>

/** The measurement of an event: of an evaluation, or of the model that is kept at the end. */
function measuredIn(event: EvaluatedEvent | FinishedEvent): MeasuredFacts {
  const { testLoss, testAccuracy, testTopK = null, testPerplexity = null, testMetrics: { r2 = null, mae = null } = {} } = event
  const [testR2, testMae] = [orNull(r2), orNull(mae)]
  return { testLoss: orNull(testLoss), testAccuracy, testTopK, testPerplexity: orNull(testPerplexity), testR2, testMae }
}

interface LaneFigures {
  readonly learner?: number | null
  readonly state: LearnerState
  readonly waiting?: number | null
  readonly averaging?: number | null
  readonly distance?: number | null
}

interface LearnerFigures {
  readonly waiting: number
  readonly averaging: number
  readonly distance: number | null
}

/** Means over the rounds: of their time, the shares that a learner waited for others and that the rule took. */
function figuresByLearner(rounds: readonly RoundFigures[]): Map<number, LearnerFigures> {
  const sums = new Map<number, { waited: number; averaged: number; time: number; distance: number; distances: number }>()
  for (const { began, seconds, averaged, members } of rounds)
    for (const { learner, waited, distance } of members) {
      const sum = sums.get(learner) ?? { waited: 0, averaged: 0, time: 0, distance: 0, distances: 0 }
      const time = Math.max(1e-9, seconds - began)
      // `waited` includes the time of the rule, which is shown as a share of its own.
      const pure = Math.max(0, Math.min(waited, time) - averaged)
      sums.set(learner, {
        waited: sum.waited + pure,
        averaged: sum.averaged + Math.min(averaged, time),
        time: sum.time + time,
        distance: sum.distance + (distance ?? 0),
        distances: sum.distances + (distance === null ? 0 : 1)
      })
    }
  return new Map(
    [...sums].map(([learner, { waited, averaged, time, distance, distances }]) => [
      learner,
      { waiting: waited / time, averaging: averaged / time, distance: distances > 0 ? distance / distances : null }
    ])
  )
}

function plain(numbers: object): Record<string, number | string | boolean | null> {
  const isPlain = (value: unknown) => value === null || ['number', 'string', 'boolean'].includes(typeof value)
  return Object.fromEntries(Object.entries(numbers).filter(([, value]) => isPlain(value)))
}

function orNull(value: number | null): number | null {
  return value !== null && Number.isFinite(value) ? value : null
}
