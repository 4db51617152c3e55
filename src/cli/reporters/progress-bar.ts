import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import type { JobEvent, ProgressEvent } from '../../index.js'
import { count, duration, loss, percent, secondsLeft } from '../figures.js'
import { Pace } from './pace.js'
import type { Output, Reporter } from './reporter.js'
import { evaluatedSentence, finishedSentence, learnerLostSentence, startedSentence } from './sentences.js'

const FORMAT = '{bar} {percentage}%  epoch {epoch}  {pace} images/s  loss {loss}{accuracy}  {left} left'

/** For terminals: a bar that moves, with what was measured in lines above it. */
export class ProgressBar implements Reporter {
  readonly #output: Output
  #bars: MultiBar | undefined
  #bar: SingleBar | undefined
  #pace: Pace | undefined
  #accuracy = ''

  constructor(output: Output) {
    this.#output = output
  }

  show(event: JobEvent): void {
    switch (event.event) {
      case 'started':
        this.#output.write(`${startedSentence(event)}\n`)
        this.#pace = new Pace(event)
        this.#begin(event.iterations)
        break
      case 'progress':
        this.#bar?.update(event.iteration, this.#figures(event))
        break
      case 'evaluated':
        if (event.testAccuracy !== null) this.#accuracy = `  accuracy ${percent(event.testAccuracy)}`
        this.#bars?.log(`${evaluatedSentence(event)}\n`)
        this.#bar?.update(event.iteration, { accuracy: this.#accuracy })
        this.#bars?.update()
        break
      case 'learnerLost':
        this.#bars?.log(`${learnerLostSentence(event)}\n`)
        this.#bars?.update()
        break
      case 'finished':
        this.close()
        this.#output.write(`${finishedSentence(event)}\n`)
    }
  }

  close(): void {
    this.#bars?.stop()
    this.#bars = undefined
    this.#bar = undefined
  }

  #begin(iterations: number): void {
    this.#bars = new MultiBar(
      {
        format: FORMAT,
        stream: this.#output,
        barsize: 24,
        fps: 5,
        hideCursor: true,
        linewrap: false,
        clearOnComplete: true,
        // The signals are the command's: it stops the job, and the job's end closes the bar.
        gracefulExit: false
      },
      Presets.shades_classic
    )
    this.#bar = this.#bars.create(iterations, 0, { epoch: '0.00', pace: '-', loss: '-', accuracy: '', left: '-:--' })
  }

  #figures(event: ProgressEvent): object {
    return {
      epoch: event.epoch.toFixed(2),
      pace: count(this.#pace?.at(event) ?? event.imagesPerSecond),
      loss: loss(event.loss),
      accuracy: this.#accuracy,
      left: duration(secondsLeft(event))
    }
  }
}
