import type { JobEvent, ProgressEvent } from '../../index.js'
import { count, duration, loss, secondsLeft } from '../text.js'
import { dataWait, eventMessage } from './messages.js'
import { ThroughputMeter, type Output, type Reporter } from './reporter.js'

/** Progress is written at each twentieth of a run, but not more often than every two seconds, so that logs stay short. */
const SHARE = 1 / 20
const SECONDS = 2

/** Writes events as lines of text, for files and pipes. */
export class PlainLines implements Reporter {
  readonly #output: Output
  readonly #now: () => number
  #nextShare = SHARE
  #nextTime: number
  #throughput: ThroughputMeter | undefined

  /** `now` returns milliseconds. */
  constructor(output: Output, { now = () => performance.now() }: { now?: () => number } = {}) {
    this.#output = output
    this.#now = now
    this.#nextTime = now() + 1000 * SECONDS
  }

  show(event: JobEvent): void {
    if (event.event === 'started') this.#throughput = new ThroughputMeter(event)
    const text = event.event === 'progress' ? this.#progress(event) : eventMessage(event)
    if (text !== undefined) this.#output.write(`${text}\n`)
  }

  close(): void {}

  #progress(event: ProgressEvent): string | undefined {
    const throughput = this.#throughput?.at(event) ?? event.imagesPerSecond
    const share = event.iteration / event.iterations
    if (share < this.#nextShare || this.#now() < this.#nextTime) return undefined
    this.#nextShare = (Math.floor(share / SHARE) + 1) * SHARE
    this.#nextTime = this.#now() + 1000 * SECONDS
    const left = duration(secondsLeft(event))
    const done = `${Math.floor(100 * share)}%`.padStart(4)
    return `${done}  epoch ${event.epoch.toFixed(2)}  loss ${loss(event.loss)}  ${count(throughput)} images/s  ${left} left${dataWait(event)}`
  }
}
