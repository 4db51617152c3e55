import { createHash } from 'node:crypto'
import type { Findings } from '../actors/evaluator.js'
import type { GroupStatus } from '../engine/contract.js'
import { ArbalestError } from '../errors.js'
import type { Crew } from './crew.js'
import type { EvaluatedEvent, FinishedEvent } from './events.js'
import type { JobControl } from './job.js'
import { perSecond, ProgressMeter } from './progress-meter.js'
import type { Schedule } from './schedule.js'
import type { Settings } from './settings.js'

/** How often a run tells how far it is, in milliseconds. */
const PROGRESS_EVERY = 200

export interface CourseOptions {
  readonly schedule: Schedule
  readonly settings: Settings
  /** In the training set. */
  readonly samples: number
  /** Whether samples can be right or wrong. */
  readonly classifies: boolean
}

/** A run's way from measurement to measurement. */
export class Course {
  readonly #crew: Crew
  readonly #run: CourseOptions
  readonly #control: JobControl
  readonly #meter: ProgressMeter

  constructor(crew: Crew, options: CourseOptions, control: JobControl) {
    this.#crew = crew
    this.#run = options
    this.#control = control
    this.#meter = new ProgressMeter({ samples: options.samples, batch: options.settings.batch, ...options.schedule })
  }

  async finish(): Promise<FinishedEvent> {
    const { rounds, measuredAfter } = this.#run.schedule
    let measured: EvaluatedEvent | undefined
    for (let round = 0; round < rounds;) {
      round = measuredAfter(round)
      if (!this.#control.stop.aborted) await this.#trainUntil(round)
      else if (measured) break
      measured = await this.#measure()
    }
    return this.#finishedEvent(measured!)
  }

  async #trainUntil(round: number): Promise<void> {
    const { synchroniser, supervisor } = this.#crew
    await synchroniser.ask.pauseAt(round)
    const stop = () => synchroniser.tell.pauseSoon()
    this.#control.stop.addEventListener('abort', stop, { once: true })
    if (this.#control.stop.aborted) stop()
    const ticks = setInterval(() => void this.#tellProgress().catch(() => {}), PROGRESS_EVERY)
    this.#meter.start()
    try {
      await supervisor.askWith({ deadline: Infinity }).train()
    } finally {
      this.#meter.pause()
      clearInterval(ticks)
      this.#control.stop.removeEventListener('abort', stop)
    }
    this.#checkLoss(await this.#tellProgress())
  }

  async #tellProgress(): Promise<GroupStatus> {
    const { synchroniser } = this.#crew
    const status = await synchroniser.ask.status()
    const event = this.#meter.event(status, await synchroniser.ask.losses(this.#meter.iteration))
    if (event) this.#control.emit(event)
    return status
  }

  #checkLoss({ notFiniteAt }: GroupStatus): void {
    if (notFiniteAt < 0) return
    const { rate } = this.#run.settings.optimiser
    const message = `optimiser.rate: received ${rate}; the loss was not a finite number at iteration ${notFiniteAt}: use a lower rate`
    throw new ArbalestError('LOSS_NOT_FINITE', message, { data: { iteration: notFiniteAt, rate } })
  }

  async #measure(): Promise<EvaluatedEvent> {
    const { evaluators, synchroniser } = this.#crew
    const start = performance.now()
    const findings = await Promise.all(evaluators.map((evaluator) => evaluator.askWith({ deadline: Infinity }).measure()))
    const seconds = (performance.now() - start) / 1000
    const total = (what: keyof Findings) => findings.reduce((sum, each) => sum + each[what], 0)
    const testAccuracy = this.#run.classifies ? total('correct') / total('samples') : null
    const { iterations: iteration, position } = await synchroniser.ask.status()
    const epoch = position / this.#run.samples
    const measured: EvaluatedEvent = {
      event: 'evaluated',
      iteration,
      epoch,
      testLoss: total('loss') / total('samples'),
      testAccuracy,
      seconds
    }
    this.#control.emit(measured)
    return measured
  }

  async #finishedEvent({ testLoss, testAccuracy }: EvaluatedEvent): Promise<FinishedEvent> {
    const { synchroniser } = this.#crew
    const { iterations, position } = await synchroniser.ask.status()
    const { seconds } = this.#meter
    return {
      event: 'finished',
      reason: iterations < this.#run.schedule.iterations ? 'stopped' : 'completed',
      testAccuracy,
      testLoss,
      imagesPerSecond: perSecond(position, seconds),
      learners: this.#run.settings.learners,
      epochs: position / this.#run.samples,
      iterations,
      seconds,
      weightsSha256: sha256(await synchroniser.ask.central())
    }
  }
}

/** Of float32 values, little-endian. */
function sha256(weights: Float32Array | Float64Array): string {
  const bytes = new DataView(new ArrayBuffer(weights.length * 4))
  weights.forEach((weight, i) => bytes.setFloat32(4 * i, weight, true))
  return createHash('sha256').update(bytes).digest('hex')
}
