import { MultiBar, Presets, type Options, type Params, type SingleBar } from 'cli-progress'
import type { JobEvent, ProgressEvent, StartedEvent } from '../../index.js'
import { count, duration, loss, percent, secondsLeft } from '../text.js'
import { LastLine } from './last-line.js'
import { dataWait, eventMessage } from './messages.js'
import { ThroughputMeter, type Output, type Reporter } from './reporter.js'
import { TuningSummary } from './tuning.js'

/** What is told beside the bar, in this order. */
const PARTS = ['epoch', 'throughput', 'loss', 'accuracy', 'left', 'wait'] as const
/** The order in which parts are left out where the terminal is too narrow for all. */
const LEFT_OUT = ['wait', 'epoch', 'throughput', 'accuracy', 'loss', 'left'] as const satisfies readonly (typeof PARTS)[number][]
/** Characters of the bar. */
const [LONGEST, SHORTEST] = [24, 8]

type BarParts = Readonly<Record<(typeof PARTS)[number], string>>

/** The bar and what fits beside it. */
function barLine({ barCompleteString = '', barIncompleteString = '' }: Options, { progress, maxWidth }: Params, parts: BarParts): string {
  const told = new Set<string>(PARTS)
  const text = () => ` ${Math.floor(100 * progress)}%${PARTS.map((part) => (told.has(part) ? parts[part] : '')).join('')}`
  // A character in the last column would be erased with what lies behind the cursor.
  const room = () => maxWidth - 1 - text().length
  for (const part of LEFT_OUT) if (room() < SHORTEST) told.delete(part)
  const length = Math.max(SHORTEST, Math.min(LONGEST, room()))
  const done = Math.round(progress * length)
  return `${barCompleteString.slice(0, done)}${barIncompleteString.slice(0, length - done)}${text()}`
}

/** Shows a progress bar with the messages of events above it, and all else that the process writes, for terminals. */
export class ProgressBar implements Reporter {
  readonly #output: Output
  readonly #stderr: Output
  #line: LastLine | undefined
  #bars: MultiBar | undefined
  #bar: SingleBar | undefined
  #throughput: ThroughputMeter | undefined
  #accuracy = ''
  /** undefined: every decision of the tuner is told. */
  readonly #tuning: TuningSummary | undefined
  readonly #leave = () => this.close()

  constructor(output: Output, { verbose = false, stderr = process.stderr }: { readonly verbose?: boolean; readonly stderr?: Output } = {}) {
    this.#output = output
    this.#stderr = stderr
    this.#tuning = verbose ? undefined : new TuningSummary()
  }

  show(event: JobEvent): void {
    if (event.event === 'progress') {
      // Every change of the number of learners changes it, by whomever it is made.
      this.#bar?.setTotal(event.iterations)
      this.#bar?.update(event.iteration, this.#parts(event))
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
    process.off('exit', this.#leave)
    this.#line?.[Symbol.dispose]()
    this.#bars?.stop()
    this.#line = undefined
    this.#bars = undefined
    this.#bar = undefined
  }

  #write(text: string | undefined): void {
    if (text !== undefined) this.#output.write(`${text}\n`)
  }

  #start(event: StartedEvent): void {
    this.#throughput = new ThroughputMeter(event)
    // Shows the cursor again where a user's code ends the process, by `process.exit` or an error that nobody catches.
    process.once('exit', this.#leave)
    this.#line = new LastLine(this.#output, this.#stderr.isTTY ? [this.#stderr] : [], () => this.#bars?.update())
    this.#bars = new MultiBar(
      {
        format: barLine as Options['format'],
        stream: this.#line.stream,
        barsize: LONGEST,
        fps: 5,
        hideCursor: true,
        // Else messages above the bar would be cut off at the width of the terminal.
        linewrap: true,
        clearOnComplete: true,
        // Also where it has not changed since something was written in its place.
        forceRedraw: true,
        // The command handles signals: it stops the job, and the job's end closes the bar.
        gracefulExit: false
      },
      Presets.shades_classic
    )
    const first: BarParts = {
      epoch: '  epoch 0.00',
      throughput: `  - samples/s x${event.learners}`,
      loss: '  loss -',
      accuracy: '',
      left: '  -:-- left',
      wait: ''
    }
    this.#bar = this.#bars.create(event.iterations, 0, first)
  }

  #parts(event: ProgressEvent): BarParts {
    return {
      epoch: `  epoch ${event.epoch.toFixed(2)}`,
      throughput: `  ${count(this.#throughput?.at(event) ?? event.imagesPerSecond)} samples/s x${event.learners}`,
      loss: `  loss ${loss(event.loss)}`,
      accuracy: this.#accuracy,
      left: `  ${duration(secondsLeft(event))} left`,
      wait: dataWait(event)
    }
  }
}
