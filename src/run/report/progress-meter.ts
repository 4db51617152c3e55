import type { GroupStatus } from '../../engine/contract.js'
import type { ProgressEvent } from '../../observe/events.js'
import { learningRateAt, type LearningRatePiece } from '../../schedules/pieces.js'

export interface MeteredRun extends MeteredSchedule {
  /** In the training set. */
  readonly samples: number
  readonly batch: number
  /** The state from which the run goes on; by default its beginning. */
  readonly from?: { readonly iteration: number; readonly position: number; readonly seconds: number }
  /** Iterations from one event to the next; if omitted, each call makes one. */
  readonly every?: number
  /** Those of all hosts; the members of the group if omitted. */
  readonly learners?: () => number
}

/** The part of a metered run that changes with the population. */
export interface MeteredSchedule {
  readonly iterations: number
  readonly learningRates: readonly LearningRatePiece[]
}

/** A moment of a run. `waited`: seconds for which all learners together have waited for data. */
interface Mark {
  readonly images: number
  readonly seconds: number
  readonly waited: number
}

/** The number of events over which images per second are averaged: with large models few steps end between two events. */
const WINDOW = 10

/** Measures the progress of a run. Its clock runs while the learners train, and stops while the central model is measured. */
export class ProgressMeter {
  #run: MeteredRun
  readonly #marks: Mark[]
  #last: Mark
  #seconds: number
  #runningSince: number | undefined
  #iteration: number
  /** Of the iterations since the last event that have a loss. */
  #losses = { sum: 0, count: 0 }

  constructor(run: MeteredRun) {
    this.#run = run
    const { iteration, position, seconds } = run.from ?? { iteration: 0, position: 0, seconds: 0 }
    this.#last = { images: position, seconds, waited: 0 }
    this.#marks = [this.#last]
    this.#seconds = seconds
    this.#iteration = iteration
  }

  /** Changes the schedule of the iterations to come. */
  changeSchedule({ iterations, learningRates: rates }: MeteredSchedule): void {
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

  /** The first iteration whose loss is not known to the meter yet. */
  get iteration(): number {
    return this.#iteration
  }

  /** The learning rate of an iteration. The rates are float32, with seven digits: 0.01 instead of 0.009999999776. */
  learningRateOf(iteration: number): number {
    return Number(learningRateAt(this.#run.learningRates, iteration).toPrecision(7))
  }

  /**
   * The progress since the last call, as one event, or as one at each multiple of `every`; none if no such iteration was completed. `losses` begin at
   * `iteration`, or later if the engine has forgotten the first ones; `waited` is the number of seconds for which all learners together have waited for data so
   * far. Moments between two calls are interpolated.
   */
  events({ members, iterations }: Pick<GroupStatus, 'members' | 'iterations'>, losses: Float32Array, waited = 0): ProgressEvent[] {
    const { batch, every } = this.#run
    const learners = this.#run.learners?.() ?? members.length
    const before = this.#last
    const forgotten = Math.max(0, iterations - this.#iteration - losses.length)
    const first = (this.#iteration += forgotten)
    const images = before.images + (forgotten + losses.length) * learners * batch
    const now: Mark = { images, seconds: this.seconds, waited }
    const until = first + losses.length
    const ends = every === undefined ? [until] : multiples(every, first, until)
    const events = ends.flatMap((end) => {
      this.#add(losses.subarray(this.#iteration - first, end - first))
      return this.#event(between(before, now, losses.length > 0 ? (end - first) / losses.length : 1), learners)
    })
    this.#add(losses.subarray(this.#iteration - first))
    this.#last = now
    return events
  }

  /** Losses of the next iterations. An iteration whose only learner failed has none. */
  #add(losses: Float32Array): void {
    for (const loss of losses) {
      if (Number.isNaN(loss)) continue
      this.#losses.sum += loss
      this.#losses.count++
    }
    this.#iteration += losses.length
  }

  #event(mark: Mark, learners: number): ProgressEvent[] {
    const { sum, count } = this.#losses
    if (count === 0) return []
    this.#losses = { sum: 0, count: 0 }
    const { samples, iterations, every } = this.#run
    const from = this.#marks[0]!
    this.#marks.push(mark)
    if (this.#marks.length > (every === undefined ? WINDOW : 1)) this.#marks.shift()
    const seconds = mark.seconds - from.seconds
    return [
      {
        event: 'progress',
        iteration: this.#iteration,
        iterations,
        epoch: mark.images / samples,
        loss: sum / count,
        learningRate: this.learningRateOf(this.#iteration - 1),
        imagesPerSecond: perSecond(mark.images - from.images, seconds),
        learners,
        dataWait: Math.min(1, perSecond(mark.waited - from.waited, seconds * learners)),
        seconds: mark.seconds
      }
    ]
  }
}

/** The multiples of a number above `from`, up to `until`. */
function multiples(number: number, from: number, until: number): number[] {
  const [below, count] = [Math.floor(from / number), Math.floor(until / number)]
  return Array.from({ length: count - below }, (_, i) => (below + 1 + i) * number)
}

/** The moment after this share of the work between two. */
function between(from: Mark, until: Mark, share: number): Mark {
  const at = (a: number, b: number): number => (share === 1 ? b : a + share * (b - a))
  return {
    images: at(from.images, until.images),
    seconds: at(from.seconds, until.seconds),
    waited: at(from.waited, until.waited)
  }
}

/** 0 if no time has passed: JSON has no Infinity. */
export function perSecond(amount: number, seconds: number): number {
  return seconds > 0 ? amount / seconds : 0
}
