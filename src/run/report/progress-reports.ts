import type { GroupStatus } from '../../engine/contract.js'
import { thrownByCallback } from '../../errors.js'
import { eventLoopTurn } from '../../node.js'
import type { StepEvent } from '../../observe/events.js'
import type { PopulationControl } from '../../tuner/population-control.js'
import type { RunActors } from '../start/run-actors.js'
import type { Hosts } from '../hosts/meeting.js'
import type { JobControl } from '../job.js'
import type { ProgressMeter } from './progress-meter.js'
import { MOST_AHEAD, type RunSettings } from '../run-settings.js'
import type { Schedule } from '../schedule.js'
import { PATIENCE, userAnswer } from '../user-answer.js'

/** Readers of a job's events may lag by 1024: they get a turn more often than that. */
const EVENTS_A_TURN = 256
/** Milliseconds for which calls of `onStep` may hold up the event loop. */
const CALLS_A_TURN = 50

export interface ProgressReportsOptions {
  readonly settings: Pick<RunSettings, 'logEvery' | 'onStep'>
  /** Absent if this process trains alone: then the members of the group are all learners. */
  readonly hosts: Hosts | undefined
  readonly actors: Pick<RunActors, 'synchroniser' | 'dataWaited'>
  readonly population: Pick<PopulationControl, 'learners'>
  readonly meter: ProgressMeter
}

/** Iterations that are done and of which `onStep` is not told yet. */
interface Steps extends Pick<StepEvent, 'iterations' | 'learners'> {
  readonly first: number
  readonly losses: Float32Array
}

/** Tells what the learners have done: emits progress, and calls `onStep` for each iteration, in order and without a gap. */
export class ProgressReports {
  readonly #options: ProgressReportsOptions
  readonly #control: JobControl
  /** Iterations of which everything is told. */
  #told: number
  #last: Promise<unknown> = Promise.resolve()
  #busy = 0
  #failure: { readonly error: unknown } | undefined
  /** Until when `onStep` is called of a run that is stopped. */
  #patience = Infinity

  constructor(options: ProgressReportsOptions, control: JobControl) {
    this.#options = options
    this.#control = control
    this.#told = options.meter.iteration
  }

  /** Whether no iteration may be missing, so that the learners must not be too far ahead. */
  get areExact(): boolean {
    const { logEvery, onStep } = this.#options.settings
    return logEvery !== undefined || onStep !== undefined
  }

  /** What `onStep` has thrown. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  /** The round before which learners that train until `round` must rest, so that the reports can follow. */
  restBefore(round: number, { roundBy }: Schedule): number {
    return this.areExact ? Math.min(round, roundBy(this.#told + MOST_AHEAD)) : round
  }

  /** A report is under way: an asynchronous `onStep` has not answered. */
  get isBusy(): boolean {
    return this.#busy > 0
  }

  /** Tells everything since the last report. Resolves when that is done, with the status of the group at its beginning. */
  async report(iterations: number): Promise<GroupStatus> {
    this.#busy++
    const report = this.#last.then(() => this.#report(iterations))
    this.#last = report.catch(() => {})
    return report.finally(() => this.#busy--)
  }

  async #report(iterations: number): Promise<GroupStatus> {
    const { actors, meter, settings, hosts, population } = this.#options
    const status = await actors.synchroniser.ask.status()
    const losses = await actors.synchroniser.ask.losses(meter.iteration)
    const events = meter.events(status, losses, actors.dataWaited())
    const steps = settings.onStep && {
      first: meter.iteration - losses.length,
      losses,
      iterations,
      learners: hosts ? population.learners : status.members.length
    }
    for (const [i, event] of events.entries()) {
      if (steps) await this.#callUntil(event.iteration, steps)
      this.#control.metrics.holdAt(event.iteration)
      this.#control.emit(event)
      this.#control.metrics.holdAt(undefined)
      if ((i + 1) % EVENTS_A_TURN === 0) await eventLoopTurn()
    }
    if (steps) await this.#callUntil(meter.iteration, steps)
    this.#told = meter.iteration
    return status
  }

  /** Calls `onStep` for all iterations up to this one. */
  async #callUntil(iteration: number, { first, losses, ...rest }: Steps): Promise<void> {
    const { meter } = this.#options
    let turn = performance.now()
    for (; this.#told < iteration; this.#told++) {
      const at = Math.max(this.#told, first)
      const step: StepEvent = { iteration: at + 1, loss: losses[at - first]!, learningRate: meter.learningRateOf(at), ...rest }
      if (!(await this.#call(step))) return
      if (performance.now() - turn < CALLS_A_TURN) continue
      await eventLoopTurn()
      turn = performance.now()
    }
  }

  /** False if `onStep` is not called any more. */
  async #call(step: StepEvent): Promise<boolean> {
    const { stop, metrics } = this.#control
    if (stop.aborted) this.#patience = Math.min(this.#patience, performance.now() + PATIENCE)
    if (this.#failure || performance.now() > this.#patience) return false
    metrics.holdAt(step.iteration)
    try {
      const answer: unknown = this.#options.settings.onStep!(step)
      if (!isThenable(answer)) return true
      let answered = false
      await userAnswer(async () => answer.then(() => (answered = true)), { name: 'onStep', stop })
      // The run is stopped, and no answer came: it may still be at work.
      if (!answered) this.#patience = -Infinity
      return answered
    } catch (error) {
      this.#failure = { error: thrownByCallback(error) }
      return false
    } finally {
      metrics.holdAt(undefined)
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function'
}
