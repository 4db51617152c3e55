import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import type { JobEvent, ProgressEvent, StartedEvent } from '../../index.js'
import { count, duration, loss, percent, secondsLeft } from '../text.js'
import { dataWait, eventMessage } from './messages.js'
import { ThroughputMeter, type Output, type Reporter } from './reporter.js'
import { TuningSummary } from './tuning.js'

const FORMAT = '{bar} {percentage}%  epoch {epoch}  {throughput} samples/s x{learners}  loss {loss}{accuracy}  {left} left{wait}'

/** Shows a progress bar with the messages of events above it, for terminals. */
export class ProgressBar implements Reporter {
  readonly #output: Output
  #bars: MultiBar | undefined
  #bar: SingleBar | undefined
  #throughput: ThroughputMeter | undefined
  #accuracy = ''
  /** undefined: every decision of the tuner is told. */
  readonly #tuning: TuningSummary | undefined

  constructor(output: Output, { verbose = false }: { readonly verbose?: boolean } = {}) {
    this.#output = output
    this.#tuning = verbose ? undefined : new TuningSummary()
  }

  show(event: JobEvent): void {
    if (event.event === 'progress') {
      // Every change of the number of learners changes it, by whomever it is made.
      this.#bar?.setTotal(event.iterations)
      this.#bar?.update(event.iteration, this.#values(event))
      return
    }
    if (event.event === 'evaluated') {
      if (event.testAccuracy !== null) this.#accuracy = `  accuracy ${percent(event.testAccuracy)}`
      this.#bar?.update(event.iteration, { accuracy: this.#accuracy })
    }
    if (event.event === 'resumed') this.#bar?.update(event.iteration)
    if (event.event === 'wentBack') this.#bar?.update(0)
    if (this.#tuning?.takes(event)) return
    if (event.event === 'finished') {
      this.close()
      this.#write(this.#tuning?.text)
    }
    this.#write(eventMessage(event))
    if (event.event === 'started') this.#start(event)
  }

  close(): void {
    this.#bars?.stop()
    this.#bars = undefined
    this.#bar = undefined
  }

  /** Writes above the bar while there is one. */
  #write(text: string | undefined): void {
    if (text === undefined) return
    if (this.#bars) {
      this.#bars.log(`${text}\n`)
      this.#bars.update()
    } else this.#output.write(`${text}\n`)
  }

  #start(event: StartedEvent): void {
    this.#throughput = new ThroughputMeter(event)
    this.#bars = new MultiBar(
      {
        format: FORMAT,
        stream: this.#output,
        barsize: 24,
        fps: 5,
        hideCursor: true,
        linewrap: false,
        clearOnComplete: true,
        // The command handles signals: it stops the job, and the job's end closes the bar.
        gracefulExit: false
      },
      Presets.shades_classic
    )
    const { iterations, learners } = event
    this.#bar = this.#bars.create(iterations, 0, {
      epoch: '0.00',
      learners,
      throughput: '-',
      loss: '-',
      accuracy: '',
      left: '-:--',
      wait: ''
    })
  }

  #values(event: ProgressEvent): object {
    return {
      epoch: event.epoch.toFixed(2),
      throughput: count(this.#throughput?.at(event) ?? event.imagesPerSecond),
      loss: loss(event.loss),
      learners: event.learners,
      accuracy: this.#accuracy,
      left: duration(secondsLeft(event)),
      wait: dataWait(event)
    }
  }
}
