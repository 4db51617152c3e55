import type { GroupStatus } from '../engine/contract.js'
import type { ProgressEvent } from '../observe/events.js'
import { learningRateAt, type LearningRatePiece } from '../schedules/pieces.js'

export interface MeteredRun extends MeteredSchedule {
  /** In the training set. */
  readonly samples: number
  readonly batch: number
  /** The state from which the run goes on; by default its beginning. */
  readonly from?: { readonly iteration: number; readonly position: number; readonly seconds: number }
}

/** The part of a metered run that changes with the population. */
export interface MeteredSchedule {
  readonly iterations: number
  readonly learningRates: readonly LearningRatePiece[]
}

/** The number of events over which images per second are averaged: with large models few steps end between two events. */
const WINDOW = 10

/** Measures the progress of a run. Its clock runs while the learners train, and stops while the central model is measured. */
export class ProgressMeter {
  #run: MeteredRun
  readonly #marks: { readonly images: number; readonly seconds: number; readonly waited: number }[]
  #seconds: number
  #runningSince: number | undefined
  #iteration: number

  constructor(run: MeteredRun) {
    this.#run = run
    const { iteration, position, seconds } = run.from ?? { iteration: 0, position: 0, seconds: 0 }
    this.#marks = [{ images: position, seconds, waited: 0 }]
    this.#seconds = seconds
    this.#iteration = iteration
  }

  /** Changes the schedule of the iterations to come. */
  follow({ iterations, learningRates: rates }: MeteredSchedule): void {
    this.#run = { ...this.#run, iterations, learningRates: rates }
  }

  start(): void {
    this.#runningSince = performance.now()
  }

  pause(): void {
    this.#seconds = this.seconds
    this.#runningSince = undefined
  }

  /** Of training so far. */
  get seconds(): number {
    return this.#seconds + (this.#runningSince === undefined ? 0 : (performance.now() - this.#runningSince) / 1000)
  }

  /** The first iteration whose loss is not part of an event yet. */
  get iteration(): number {
    return this.#iteration
  }

  /**
   * The progress since the last event; undefined if no iteration was completed. `losses` begin at `iteration`; `waited` is the number of seconds for which
   * all learners together have waited for data so far.
   */
  event({ members }: Pick<GroupStatus, 'members'>, losses: Float32Array, waited = 0): ProgressEvent | undefined {
    // An iteration whose only learner failed has no loss.
    const known = losses.filter((loss) => !Number.isNaN(loss))
    if (known.length === 0) return undefined
    const { samples, iterations, batch, learningRates: rates } = this.#run
    const images = this.#marks.at(-1)!.images + losses.length * members.length * batch
    const { seconds } = this
    const first = this.#marks[0]!
    this.#marks.push({ images, seconds, waited })
    if (this.#marks.length > WINDOW) this.#marks.shift()
    this.#iteration += losses.length
    return {
      event: 'progress',
      iteration: this.#iteration,
      iterations,
      epoch: images / samples,
      loss: known.reduce((sum, loss) => sum + loss, 0) / known.length,
      // The rates are float32, with seven digits: 0.01 instead of 0.009999999776.
      learningRate: Number(learningRateAt(rates, this.#iteration - 1).toPrecision(7)),
      imagesPerSecond: perSecond(images - first.images, seconds - first.seconds),
      learners: members.length,
      dataWait: Math.min(1, perSecond(waited - first.waited, (seconds - first.seconds) * members.length)),
      seconds
    }
  }
}

/** 0 if no time has passed: JSON has no Infinity. */
export function perSecond(amount: number, seconds: number): number {
  return seconds > 0 ? amount / seconds : 0
}
