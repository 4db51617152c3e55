import { createHash } from 'node:crypto'
import { loadEngine } from '../actors/engine-module.js'
import type { Measurement } from '../actors/evaluator.js'
import type { Dataset } from '../data/dataset.js'
import { openDataset } from '../data/open.js'
import type { Engine, GroupStatus } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { ArbalestError } from '../errors.js'
import type { Model } from '../model/model.js'
import { modelNamed } from '../model/zoo/index.js'
import { ActorSystem } from '../runtime/system.js'
import { assembleCrew, type Crew, type RunModules, type Workplace } from './crew.js'
import type { FinishedEvent, StartedEvent } from './events.js'
import { HandleScope } from './handle-scope.js'
import type { JobControl, JobOutcome } from './job.js'
import { checkMemory, memoryNeed, type MemoryNeed } from './memory.js'
import { perSecond, ProgressMeter } from './progress-meter.js'
import { programsOf, type Programs } from './programs.js'
import { scheduleOf, type Schedule } from './schedule.js'
import type { Settings } from './settings.js'
import { TrainedModel } from './trained-model.js'

/** How often a run tells how far it is, in milliseconds. */
const PROGRESS_EVERY = 200

/** One run, from settings to the trained model. Every thread that it starts has ended when it returns or throws. */
export async function run(settings: Settings, modules: RunModules, control: JobControl): Promise<JobOutcome> {
  const engine = await loadEngine(modules.engine.href)
  checkPrecision(engine, settings)
  const dataset = typeof settings.data === 'string' ? await openDataset(settings.data, { directory: settings.dataDir }) : settings.data
  const model = typeof settings.model === 'string' ? modelNamed(settings.model, { input: dataset.sample, classes: dataset.classes }) : settings.model
  const programs = programsOf(model, dataset, settings, loweringBackend(engine, settings.backend))
  const need = memoryOf(programs, dataset)
  checkMemory(need, settings.learners, engine.describe().freeMemory)

  const workplace = { engine, modules, system: new ActorSystem(), handles: new HandleScope(engine) }
  try {
    const crew = await assembleCrew(model, dataset, programs, settings, workplace)
    const schedule = scheduleOf(settings, dataset.train.count)
    await crew.synchroniser.ask.follow(schedule)
    control.emit(startedEvent(model, dataset, settings, programs, schedule, need))
    const finished = await new Course(crew, schedule, dataset.train.count, settings, control).finish()
    return { finished, model: await trainedModel(crew, programs, dataset, workplace) }
  } finally {
    await workplace.system.stop()
    workplace.handles.release()
  }
}

/** The way from evaluation to evaluation. */
class Course {
  readonly #crew: Crew
  readonly #schedule: Schedule
  readonly #samples: number
  readonly #settings: Settings
  readonly #control: JobControl
  readonly #meter: ProgressMeter

  constructor(crew: Crew, schedule: Schedule, samples: number, settings: Settings, control: JobControl) {
    this.#crew = crew
    this.#schedule = schedule
    this.#samples = samples
    this.#settings = settings
    this.#control = control
    this.#meter = new ProgressMeter({ samples, iterations: schedule.iterations, rates: schedule.rates })
  }

  async finish(): Promise<FinishedEvent> {
    let measured: Measurement | undefined
    for (const round of this.#schedule.evaluations) {
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
    const { rate } = this.#settings.optimiser
    const message = `optimiser.rate: received ${rate}; the loss was not a finite number at iteration ${notFiniteAt}: use a lower rate`
    throw new ArbalestError('LOSS_NOT_FINITE', message, { data: { iteration: notFiniteAt, rate } })
  }

  async #measure(): Promise<Measurement> {
    const { evaluator, synchroniser } = this.#crew
    const measured = await evaluator.askWith({ deadline: Infinity }).measure()
    const { iterations, position } = await synchroniser.ask.status()
    this.#control.emit({ event: 'evaluated', iteration: iterations, epoch: position / this.#samples, ...measured })
    return measured
  }

  async #finishedEvent({ testLoss, testAccuracy }: Measurement): Promise<FinishedEvent> {
    const { synchroniser } = this.#crew
    const { iterations, position } = await synchroniser.ask.status()
    const { seconds } = this.#meter
    return {
      event: 'finished',
      reason: iterations < this.#schedule.iterations ? 'stopped' : 'completed',
      testAccuracy,
      testLoss,
      imagesPerSecond: perSecond(position, seconds),
      learners: this.#settings.learners,
      epochs: position / this.#samples,
      iterations,
      seconds,
      weightsSha256: sha256(await synchroniser.ask.central())
    }
  }
}

function checkPrecision(engine: Engine, { backend, precision }: Settings): void {
  const { backends, processor } = engine.describe()
  const found = backends.find(({ name }) => name === backend)
  // An engine that cannot be loaded says so itself at its first call.
  if (!found?.available || found.precisions.includes(precision)) return
  const message = `precision: received ${precision}; backend ${backend} on ${processor} computes in ${found.precisions.join(', ')} only: use one of them`
  throw new ArbalestError('UNSUPPORTED_PRECISION', message, { data: { precision, backend, precisions: found.precisions } })
}

function memoryOf({ train, statistics, evaluate, predict }: Programs, dataset: Dataset): MemoryNeed {
  const evaluation = [...evaluate.map(({ program }) => program), predict, ...(statistics ? [statistics.program] : [])]
  return memoryNeed(train, evaluation, [dataset.train, dataset.test])
}

function startedEvent(model: Model, dataset: Dataset, settings: Settings, programs: Programs, schedule: Schedule, need: MemoryNeed): StartedEvent {
  const { learners, batch, precision, seed } = settings
  return {
    event: 'started',
    model: model.name,
    data: dataset.name,
    learners,
    batch,
    precision,
    synchroniser: 'sma',
    seed,
    parameters: programs.train.parameters.elements,
    samples: dataset.train.count,
    iterations: schedule.iterations,
    bytesPerLearner: need.perLearner,
    bytesShared: need.shared
  }
}

/** The replica that was measured last holds the weights and their statistics: it becomes the trained model's. */
async function trainedModel({ evaluator, evaluation }: Crew, { predict }: Programs, dataset: Dataset, { engine, handles }: Workplace): Promise<TrainedModel> {
  await evaluator.stop()
  return new TrainedModel({ engine, replica: handles.pass(evaluation), program: predict, normalisation: dataset })
}

/** Of float32 values, little-endian. */
function sha256(weights: Float32Array | Float64Array): string {
  const bytes = new DataView(new ArrayBuffer(weights.length * 4))
  weights.forEach((weight, i) => bytes.setFloat32(4 * i, weight, true))
  return createHash('sha256').update(bytes).digest('hex')
}
