import type { JobEvent, ProgressEvent } from '../../index.js'
import { count, duration, loss, secondsLeft } from '../text.js'
import { dataWait, eventMessage } from './messages.js'
import { Pace } from './pace.js'
import { ThroughputMeter, type Output, type Reporter } from './reporter.js'
import { TuningSummary } from './tuning.js'

/** Writes events as lines of text, for files and pipes. */
export class PlainLines implements Reporter {
  readonly #output: Output
  readonly #pace: Pace
  /** undefined: every decision of the tuner is told. */
  readonly #tuning: TuningSummary | undefined
  #throughput: ThroughputMeter | undefined

  /** `now` returns milliseconds. */
  constructor(output: Output, { now, verbose = false }: { readonly now?: () => number; readonly verbose?: boolean } = {}) {
    this.#output = output
    this.#tuning = verbose ? undefined : new TuningSummary()
    this.#pace = new Pace(now)
  }

  show(event: JobEvent): void {
    if (event.event === 'started') this.#throughput = new ThroughputMeter(event)
    if (this.#tuning?.takes(event)) return
    if (event.event === 'finished') this.#write(this.#tuning?.text)
    this.#write(event.event === 'progress' ? this.#progress(event) : eventMessage(event))
  }

  close(): void {}

  #write(text: string | undefined): void {
    if (text !== undefined) this.#output.write(`${text}\n`)
  }

  #progress(event: ProgressEvent): string | undefined {
    const throughput = this.#throughput?.at(event) ?? event.imagesPerSecond
    if (!this.#pace.isDue()) return undefined
    const left = duration(secondsLeft(event))
    const done = `${Math.floor((100 * event.iteration) / event.iterations)}%`.padStart(4)
    return `${done}  epoch ${event.epoch.toFixed(2)}  loss ${loss(event.loss)}  ${count(throughput)} samples/s  ${left} left${dataWait(event)}`
  }
}
