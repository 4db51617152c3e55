import type { GroupStatus } from '../engine/contract.js'
import type { ProgressEvent } from './events.js'
import { rateAt, type RatePiece } from './rates.js'

/** Measures how a run gets on: its clock runs while the learners train, and stands still while the central model is measured. */
export class ProgressMeter {
  readonly #run: { readonly samples: number; readonly iterations: number; readonly rates: readonly RatePiece[] }
  #seconds = 0
  #runningSince: number | undefined
  #last = { iteration: 0, position: 0, seconds: 0 }

  constructor(run: { samples: number; iterations: number; rates: readonly RatePiece[] }) {
    this.#run = run
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
    return this.#last.iteration
  }

  /** What happened since the last such event; undefined where no iteration was completed. `losses` begin at `iteration`. */
  event({ iterations, position, members }: GroupStatus, losses: Float32Array): ProgressEvent | undefined {
    const whole = Math.min(iterations, this.#last.iteration + losses.length)
    if (whole <= this.#last.iteration) return undefined
    const seconds = this.seconds
    const told = losses.subarray(0, whole - this.#last.iteration)
    const event: ProgressEvent = {
      event: 'progress',
      iteration: whole,
      iterations: this.#run.iterations,
      epoch: position / this.#run.samples,
      loss: told.reduce((sum, loss) => sum + loss, 0) / told.length,
      rate: rateAt(this.#run.rates, whole - 1),
      imagesPerSecond: perSecond(position - this.#last.position, seconds - this.#last.seconds),
      learners: members.length,
      seconds
    }
    this.#last = { iteration: whole, position, seconds }
    return event
  }
}

/** 0 where no time has passed: an event is numbers only, and JSON knows no infinity. */
export function perSecond(amount: number, seconds: number): number {
  return seconds > 0 ? amount / seconds : 0
}
