import type { JobEvent, ProgressEvent } from '../../index.js'
import { count, duration, loss, secondsLeft } from '../text.js'
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

/** A log of a long run stays short, and one of a short run stays calm: a line each twentieth of the run, and none within two seconds. */
const SHARE = 1 / 20
const SECONDS = 2

/** For files and pipes: whole lines, at most about twenty of progress a run. */
export class PlainLines implements Reporter {
  readonly #output: Output
  readonly #now: () => number
  #nextShare = SHARE
  #nextTime: number
  #pace: Pace | undefined

  /** `now` gives milliseconds. */
  constructor(output: Output, { now = () => performance.now() }: { now?: () => number } = {}) {
    this.#output = output
    this.#now = now
    this.#nextTime = now() + 1000 * SECONDS
  }

  show(event: JobEvent): void {
    switch (event.event) {
      case 'planned':
        return this.#line(plannedSentence(event))
      case 'started':
        this.#pace = new Pace(event)
        return this.#line(startedSentence(event))
      case 'progress':
        return this.#progress(event)
      case 'evaluated':
        return this.#line(evaluatedSentence(event))
      case 'levels':
        return this.#line(levelsSentence(event))
      case 'setAside':
        return this.#line(setAsideSentence(event))
      case 'resumed':
        return this.#line(resumedSentence(event))
      case 'wentBack':
        return this.#line(wentBackSentence(event))
      case 'checkpoint':
        return this.#line(checkpointSentence(event))
      case 'learnerLost':
        return this.#line(learnerLostSentence(event))
      case 'population':
        return this.#line(populationSentence(event))
      case 'sampleSkipped':
        return this.#line(sampleSkippedSentence(event))
      case 'finished':
        return this.#line(finishedSentence(event))
    }
  }

  close(): void {}

  #progress(event: ProgressEvent): void {
    const pace = this.#pace?.at(event) ?? event.imagesPerSecond
    const share = event.iteration / event.iterations
    if (share < this.#nextShare || this.#now() < this.#nextTime) return
    this.#nextShare = (Math.floor(share / SHARE) + 1) * SHARE
    this.#nextTime = this.#now() + 1000 * SECONDS
    const left = duration(secondsLeft(event))
    const done = `${Math.floor(100 * share)}%`.padStart(4)
    this.#line(
      `${done}  epoch ${event.epoch.toFixed(2)}  loss ${loss(event.loss)}  ${count(pace)} images/s  ${left} left${dataWait(event)}`
    )
  }

  #line(text: string | undefined): void {
    if (text !== undefined) this.#output.write(`${text}\n`)
  }
}
