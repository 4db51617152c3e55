import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import type { JobEvent, ProgressEvent, StartedEvent } from '../../index.js'
import { count, duration, loss, percent, secondsLeft } from '../figures.js'
import { Pace } from './pace.js'
import type { Output, Reporter } from './reporter.js'
import {
  checkpointSentence,
  dataWait,
  evaluatedSentence,
  finishedSentence,
  learnerLostSentence,
  levelsSentence,
  plannedSentence,
  populationSentence,
  resumedSentence,
  sampleSkippedSentence,
  setAsideSentence,
  startedSentence,
  wentBackSentence
} from './sentences.js'

const FORMAT = '{bar} {percentage}%  epoch {epoch}  {pace} images/s x{learners}  loss {loss}{accuracy}  {left} left{wait}'

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
      case 'planned':
        this.#output.write(`${plannedSentence(event)}\n`)
        break
      case 'started':
        this.#output.write(`${startedSentence(event)}\n`)
        this.#pace = new Pace(event)
        this.#begin(event)
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
      case 'levels':
        this.#bars?.log(`${levelsSentence(event)}\n`)
        this.#bars?.update()
        break
      case 'setAside':
        this.#bars?.log(`${setAsideSentence(event)}\n`)
        this.#bars?.update()
        break
      case 'resumed':
        this.#bars?.log(`${resumedSentence(event)}\n`)
        this.#bar?.update(event.iteration)
        break
      case 'wentBack':
        this.#bars?.log(`${wentBackSentence(event)}\n`)
        this.#bar?.update(0)
        break
      case 'checkpoint':
        if (event.reason !== null) this.#bars?.log(`${checkpointSentence(event)}\n`)
        break
      case 'learnerLost':
        this.#bars?.log(`${learnerLostSentence(event)}\n`)
        this.#bars?.update()
        break
      case 'population':
        this.#bar?.setTotal(event.iterations)
        this.#bars?.log(`${populationSentence(event)}\n`)
        this.#bars?.update()
        break
      case 'sampleSkipped':
        this.#bars?.log(`${sampleSkippedSentence(event)}\n`)
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

  #begin({ iterations, learners }: StartedEvent): void {
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
    this.#bar = this.#bars.create(iterations, 0, { epoch: '0.00', learners, pace: '-', loss: '-', accuracy: '', left: '-:--', wait: '' })
  }

  #figures(event: ProgressEvent): object {
    return {
      epoch: event.epoch.toFixed(2),
      pace: count(this.#pace?.at(event) ?? event.imagesPerSecond),
      loss: loss(event.loss),
      learners: event.learners,
      accuracy: this.#accuracy,
      left: duration(secondsLeft(event)),
      wait: dataWait(event)
    }
  }
}
