import { createHash } from 'node:crypto'
import { loadEngine } from '../actors/engine-module.js'
import type { Findings } from '../actors/evaluator.js'
import type { Dataset } from '../data/dataset.js'
import { openDataset } from '../data/open.js'
import type { Engine, GroupStatus } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { ArbalestError } from '../errors.js'
import type { Model } from '../model/model.js'
import { modelNamed } from '../model/zoo/index.js'
import { ActorSystem } from '../runtime/system.js'
import { assembleCrew, evaluatorCount, type Crew, type RunModules, type Workplace } from './crew.js'
import type { EvaluatedEvent, FinishedEvent, StartedEvent } from './events.js'
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
  const model =
    typeof settings.model === 'string' ? modelNamed(settings.model, { input: dataset.sample, classes: dataset.classes }) : settings.model
  const programs = programsOf(model, dataset, settings, loweringBackend(engine, settings.backend))
  const need = memoryOf(programs, dataset, settings)
  checkMemory(need, settings.learners, engine.describe().freeMemory)

  const workplace = { engine, modules, system: new ActorSystem(), handles: new HandleScope(engine) }
  try {
    const crew = await assembleCrew(model, dataset, programs, settings, workplace)
    const schedule = scheduleOf(settings, dataset.train.count)
    await crew.synchroniser.ask.follow(schedule)
    control.emit(startedEvent(model, dataset, settings, programs, schedule, need))
    const finished = await new Course(
      crew,
      { schedule, settings, samples: dataset.train.count, classifies: dataset.classes > 0 },
      control
    ).finish()
    return { finished, model: await trainedModel(crew, programs, dataset, workplace) }
  } finally {
    await workplace.system.stop()
    workplace.handles.release()
  }
}

interface CourseOptions {
  readonly schedule: Schedule
  readonly settings: Settings
  /** In the training set. */
  readonly samples: number
  /** Whether samples can be right or wrong. */
  readonly classifies: boolean
}

/** The way from evaluation to evaluation. */
class Course {
  readonly #crew: Crew
  readonly #run: CourseOptions
  readonly #control: JobControl
  readonly #meter: ProgressMeter

  constructor(crew: Crew, run: CourseOptions, control: JobControl) {
    this.#crew = crew
    this.#run = run
    this.#control = control
    this.#meter = new ProgressMeter({ samples: run.samples, ...run.schedule })
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

function checkPrecision(engine: Engine, { backend, precision }: Settings): void {
  const { backends, processor } = engine.describe()
  const found = backends.find(({ name }) => name === backend)
  // An engine that cannot be loaded says so itself at its first call.
  if (!found?.available || found.precisions.includes(precision)) return
  const message = `precision: received ${precision}; backend ${backend} on ${processor} computes in ${found.precisions.join(', ')} only: use one of them`
  throw new ArbalestError('UNSUPPORTED_PRECISION', message, { data: { precision, backend, precisions: found.precisions } })
}

function memoryOf({ train, statistics, evaluate, predict }: Programs, dataset: Dataset, settings: Settings): MemoryNeed {
  const evaluation = [...evaluate.map(({ program }) => program), predict, ...(statistics ? [statistics.program] : [])]
  return memoryNeed(train, { programs: evaluation, replicas: evaluatorCount(settings) }, [dataset.train, dataset.test])
}

function startedEvent(
  model: Model,
  dataset: Dataset,
  settings: Settings,
  programs: Programs,
  schedule: Schedule,
  need: MemoryNeed
): StartedEvent {
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
async function trainedModel(
  { evaluators, evaluation }: Crew,
  { predict }: Programs,
  dataset: Dataset,
  { engine, handles }: Workplace
): Promise<TrainedModel> {
  await Promise.all(evaluators.map((evaluator) => evaluator.stop()))
  return new TrainedModel({ engine, replica: handles.pass(evaluation), program: predict, normalisation: dataset })
}

/** Of float32 values, little-endian. */
function sha256(weights: Float32Array | Float64Array): string {
  const bytes = new DataView(new ArrayBuffer(weights.length * 4))
  weights.forEach((weight, i) => bytes.setFloat32(4 * i, weight, true))
  return createHash('sha256').update(bytes).digest('hex')
}
