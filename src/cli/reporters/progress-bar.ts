import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import type { JobEvent, ProgressEvent, StartedEvent } from '../../index.js'
import { count, duration, loss, percent, secondsLeft } from '../text.js'
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
        this.#say(plannedSentence(event))
        break
      case 'started':
        this.#say(startedSentence(event))
        this.#pace = new Pace(event)
        this.#begin(event)
        break
      case 'progress':
        this.#bar?.update(event.iteration, this.#figures(event))
        break
      case 'evaluated':
        if (event.testAccuracy !== null) this.#accuracy = `  accuracy ${percent(event.testAccuracy)}`
        this.#bar?.update(event.iteration, { accuracy: this.#accuracy })
        this.#say(evaluatedSentence(event))
        break
      case 'levels':
        this.#say(levelsSentence(event))
        break
      case 'setAside':
        this.#say(setAsideSentence(event))
        break
      case 'resumed':
        this.#bar?.update(event.iteration)
        this.#say(resumedSentence(event))
        break
      case 'wentBack':
        this.#bar?.update(0)
        this.#say(wentBackSentence(event))
        break
      case 'checkpoint':
        this.#say(checkpointSentence(event))
        break
      case 'learnerLost':
        this.#say(learnerLostSentence(event))
        break
      case 'population':
        this.#bar?.setTotal(event.iterations)
        this.#say(populationSentence(event))
        break
      case 'sampleSkipped':
        this.#say(sampleSkippedSentence(event))
        break
      case 'finished':
        this.close()
        this.#say(finishedSentence(event))
    }
  }

  close(): void {
    this.#bars?.stop()
    this.#bars = undefined
    this.#bar = undefined
  }

  /** Above the bar, or where it will be and has been. */
  #say(sentence: string | undefined): void {
    if (sentence === undefined) return
    if (this.#bars) {
      this.#bars.log(`${sentence}\n`)
      this.#bars.update()
    } else this.#output.write(`${sentence}\n`)
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
