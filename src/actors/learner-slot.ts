import { ArbalestError } from '../errors.js'
import type { Engine, Handle } from '../engine/contract.js'
import type { ExitReason } from '../runtime/exit-reason.js'
import { asError } from '../runtime/errors-across-threads.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import type { Spawner } from '../runtime/context.js'
import type { LearnerReport } from './gate.js'
import type { Learner } from './learner.js'
import { Pulse } from './heartbeat.js'
import { RestartIntensity, type RestartLimits } from './restart-intensity.js'

/** A learner that is no more, and what came of it. */
export interface Loss {
  readonly learner: number
  readonly rank: number
  readonly error: Error
  /** The group's round and iteration when it was lost. */
  readonly round: number
  readonly iteration: number
  /** The learner that takes its place; null where there have been too many, or where the place is vacant. */
  readonly replacedBy: number | null
  /** Whether its place stays empty, and the others go on. */
  readonly vacant: boolean
}

/** Makes a learner as a child of the supervisor. */
export type SpawnLearner = (spawner: Spawner, learner: number, rank: number, pulse: Pulse) => Promise<ActorRef<Learner>>

export interface PlaceOptions {
  readonly engine: Engine
  readonly group: Handle
  readonly rank: number
  /** Whose learners it meets first. */
  readonly device: number
  readonly limits: RestartLimits
  readonly spawn: (learner: number, rank: number, pulse: Pulse) => Promise<ActorRef<Learner>>
  /** A number that no learner of the group has had. */
  readonly nextLearner: () => number
  readonly lost: (loss: Loss) => void
  /** Whether a learner comes with states of its own, from a checkpoint. */
  readonly resumed: (learner: number) => boolean
  /** Whether the others go on without a learner that died of this, until their number is changed. */
  readonly yields: (error: Error) => boolean
}

interface Holder {
  readonly learner: number
  readonly ref: ActorRef<Learner>
  readonly pulse: Pulse
  /** Resolves once the learner is given up, though its thread may still be there. */
  readonly gone: Promise<void>
  readonly giveUp: () => void
  lost: boolean
}

/** How long the thread of a learner that is given up may take to end by itself, in milliseconds. */
const STOP_DEADLINE = 1000

/** A place in the population: the learner that holds it, replaced by another where it dies. */
export class Place {
  readonly #options: PlaceOptions
  readonly #intensity: RestartIntensity
  #holder!: Promise<Holder>
  /** The same, once it is up. */
  #up: Holder | undefined
  /** Whether whoever holds the place takes part in the group. */
  #member = false
  #closed = false
  #vacant = false
  #first: Error | undefined
  #diedAtBirth = false
  #watched: { holder: Holder; beats: number; still: number } | undefined

  constructor(options: PlaceOptions) {
    this.#options = options
    this.#intensity = new RestartIntensity(options.limits)
  }

  /** Whether nobody holds it, nor is to until it is filled anew. */
  get vacant(): boolean {
    return this.#vacant
  }

  /** A learner is up, and no member yet. Rejects with what kept it from starting: what fails at once would fail again. */
  async fill(): Promise<void> {
    this.#vacant = false
    const learner = this.#options.nextLearner()
    const holder = this.#hold(learner)
    this.#set(holder)
    await holder
  }

  async join(): Promise<void> {
    const { learner, lost } = await this.#holder
    this.#member = true
    if (!lost) this.#join(learner, this.#options.resumed(learner))
  }

  /** Of the learner that holds the place; undefined where it has none just now, or its learner is still coming up. */
  async replica(): Promise<{ readonly learner: number; readonly replica: Handle } | undefined> {
    const holder = this.#up
    if (!holder || holder.lost) return undefined
    const replica = await holder.ref.ask.replica().catch(() => undefined)
    return replica === undefined ? undefined : { learner: holder.learner, replica }
  }

  /** Trains until the group pauses or stops, whoever holds the place meanwhile; nothing comes of it where nobody does. Rejects where too many have died. */
  async train(): Promise<LearnerReport | undefined> {
    for (;;) {
      if (this.#vacant) return undefined
      const holder = await this.#holder
      this.#watched = { holder, beats: holder.pulse.beats, still: 0 }
      try {
        const report = await Promise.race([holder.ref.askWith({ deadline: Infinity }).train(), holder.gone])
        if (report && report.outcome !== 'evicted') return report
        this.#lose(holder, new ArbalestError('LEARNER_FAILED', `learner ${holder.learner}: it was evicted from its group`))
      } catch (error) {
        const exited = error instanceof ArbalestError && error.code === 'ACTOR_GONE'
        this.#lose(holder, exited ? whyGone(holder.learner, await holder.ref.exited) : asError(error))
      } finally {
        this.#watched = undefined
      }
      if (this.#closed) throw new ArbalestError('ABORTED', `learner ${holder.learner}: it is lost, and nobody is replaced any more`)
    }
  }

  /** To be called regularly: a learner that has not moved for `patience` calls while it should have is given up. */
  look(patience: number, milliseconds: number): void {
    const watched = this.#watched
    if (!watched) return
    const { beats } = watched.holder.pulse
    if (beats !== watched.beats) {
      Object.assign(watched, { beats, still: 0 })
    } else if (++watched.still >= patience) {
      const { learner } = watched.holder
      const message = `learner ${learner}: no step within ${milliseconds} ms; let its steps be shorter, or allow a longer supervision.deadline`
      this.#lose(watched.holder, new ArbalestError('DEADLINE_EXCEEDED', message, { data: { learner, deadline: milliseconds } }))
    }
  }

  /**
   * The place is given up, at a pause of the group: its learner is no member any more, and nobody takes its place. Resolves once its thread has
   * ended and its memory is free.
   */
  async retire(): Promise<void> {
    this.close()
    const holder = await this.#holder.catch(() => undefined)
    if (!holder) return
    this.#options.engine.evict(this.#options.group, holder.learner)
    await holder.ref.stop({ deadline: STOP_DEADLINE })
    holder.giveUp()
  }

  /** From here on nobody is replaced. */
  close(): void {
    this.#closed = true
  }

  async #hold(learner: number): Promise<Holder> {
    const pulse = new Pulse()
    const ref = await this.#options.spawn(learner, this.#options.rank, pulse)
    let giveUp!: () => void
    const gone = new Promise<void>((resolve) => (giveUp = resolve))
    const holder: Holder = { learner, ref, pulse, gone, giveUp, lost: false }
    void ref.exited.then((reason) => {
      if (reason.kind !== 'stopped') this.#lose(holder, whyGone(learner, reason))
    })
    return holder
  }

  #lose(holder: Holder, error: Error): void {
    if (holder.lost || this.#closed) return holder.giveUp()
    holder.lost = true
    this.#replace(holder.learner, error, holder.pulse.steps === 0)
    void holder.ref.stop({ deadline: STOP_DEADLINE })
    holder.giveUp()
  }

  #replace(learner: number, error: Error, atBirth: boolean): void {
    const { engine, group, rank, nextLearner, lost } = this.#options
    const { round, iterations: iteration } = engine.groupStatus(group)
    engine.evict(group, learner)
    this.#first ??= error
    this.#vacant = this.#options.yields(error)
    // Who dies twice before a first step is not saved by a third life.
    const possible = !this.#vacant && this.#intensity.allows(performance.now()) && !(atBirth && this.#diedAtBirth)
    this.#diedAtBirth = atBirth
    const replacedBy = possible ? nextLearner() : null
    this.#set(replacedBy === null ? Promise.reject(this.#tooMany(learner, error)) : this.#successor(replacedBy))
    lost({ learner, rank, error, round, iteration, replacedBy, vacant: this.#vacant })
  }

  /** Up, and a member from the next round on where the one before was. */
  async #successor(learner: number): Promise<Holder> {
    let holder: Holder
    try {
      holder = await this.#hold(learner)
    } catch (error) {
      if (this.#closed) throw error
      this.#replace(learner, asError(error), true)
      return this.#holder
    }
    if (this.#member && !this.#closed && !holder.lost) this.#join(learner, false)
    return holder
  }

  #join(learner: number, resumed: boolean): void {
    const { engine, group, device } = this.#options
    engine.join(group, learner, resumed, device)
  }

  /** A rejection is met by whoever trains next, and troubles nobody before. */
  #set(holder: Promise<Holder>): void {
    this.#holder = holder
    this.#up = undefined
    const isUp = (up: Holder) => {
      if (this.#holder === holder) this.#up = up
    }
    holder.then(isUp, () => {})
  }

  #tooMany(learner: number, last: Error): ArbalestError {
    const { rank, limits } = this.#options
    const first = this.#first!
    const message = `learner ${learner}: it ended with ${worded(last)}; the first in its place with ${worded(first)}; too many to go on (${limits.restarts} restarts within ${limits.window} ms, or two deaths before a first step)`
    return new ArbalestError('LEARNER_FAILED', message, { cause: first, data: { learner, rank, first: worded(first), last: worded(last) } })
  }
}

/** The learner's own error where it had time to say it. */
function whyGone(learner: number, reason: ExitReason): Error {
  if (reason.kind === 'failed') return reason.error
  const how = reason.kind === 'stopped' ? 'it was stopped' : `its thread ended with code ${reason.code}`
  return new ArbalestError('ACTOR_GONE', `learner ${learner}: ${how}`, { data: { learner } })
}

/** An error in a few words: ours say it all by themselves. */
export function worded(error: Error): string {
  return error instanceof ArbalestError ? error.message : `${error.name}: ${error.message}`
}
