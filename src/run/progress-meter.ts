import type { GroupStatus } from '../engine/contract.js'
import type { ProgressEvent } from '../observe/events.js'
import { rateAt, type LearningRatePiece } from '../schedules/pieces.js'

export interface MeteredRun extends MeteredCourse {
  /** In the training set. */
  readonly samples: number
  readonly batch: number
  /** Where the run goes on from; the beginning if left out. */
  readonly from?: { readonly iteration: number; readonly position: number; readonly seconds: number }
}

/** What a change of the population changes. */
export interface MeteredCourse {
  readonly iterations: number
  readonly learningRates: readonly LearningRatePiece[]
}

/** Events over which images a second are counted: with large models few steps end between two of them. */
const WINDOW = 10

/** Measures how a run gets on: its clock runs while the learners train, and stands still while the central model is measured. */
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

  /** From here on the run takes another course. */
  follow({ iterations, learningRates: rates }: MeteredCourse): void {
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

  /** The first iteration whose loss no event has told yet. */
  get iteration(): number {
    return this.#iteration
  }

  /**
   * What happened since the last such event; undefined where no iteration was completed. `losses` begin at `iteration`; `waited` counts the
   * seconds that all learners together have waited for data so far.
   */
  event({ members }: Pick<GroupStatus, 'members'>, losses: Float32Array, waited = 0): ProgressEvent | undefined {
    // An iteration that was lost with the only learner that was in it has none.
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
      // Kept as float32, which holds seven digits: 0.01 and not 0.009999999776.
      learningRate: Number(rateAt(rates, this.#iteration - 1).toPrecision(7)),
      imagesPerSecond: perSecond(images - first.images, seconds - first.seconds),
      learners: members.length,
      dataWait: Math.min(1, perSecond(waited - first.waited, (seconds - first.seconds) * members.length)),
      seconds
    }
  }
}

/** 0 where no time has passed: an event is numbers only, and JSON knows no infinity. */
export function perSecond(amount: number, seconds: number): number {
  return seconds > 0 ? amount / seconds : 0
}
