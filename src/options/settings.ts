import { BACKENDS, type EngineBackend, type Precision } from '../compiler/program.js'
import type { EvaluationAverage } from '../engine/contract.js'
import type { TraceSettings } from '../observe/trace.js'
import { notFiniteSettings, type NotFiniteSettings } from './not-finite.js'
import { checkpointSettings, type CheckpointSettings } from './checkpoint.js'
import { defaultsFor } from './defaults.js'
import type { InitialWeightsOptions, TrainOptions } from './train-options.js'
import { averageSettings } from './average.js'
import { devicesSettings, type DevicesSettings } from './devices.js'
import { initialSettings } from './initial.js'
import { learnersSettings, type PopulationSettings } from './learners.js'
import { learnerModule, learnerOptions } from './learner.js'
import type { RecordSettings } from '../observe/open-sinks.js'
import { recordSettings } from './records.js'
import { OptionChecks, type OptionNames } from './option-checks.js'
import { optimiserSettings, type OptimiserSettings } from './optimiser.js'
import { subjectSettings, type SubjectSettings } from './subject.js'
import { supervisionSettings, type SupervisionSettings } from './supervision.js'
import { addsUpdates, hasNesterovLearners, synchroniserSettings, type SynchroniserSettings } from './synchroniser.js'
import { traceSettings } from './trace.js'
import { trialSettings, type TrialSettings } from './trial.js'
import { endsByTimeAlone, untilSettings, type UntilSettings } from './until.js'
import { watchSettings, type WatchSettings } from './watch.js'

/** A run's options, checked and complete. */
export interface Settings extends SubjectSettings {
  readonly batch: number
  /** At the start. */
  readonly learners: number
  readonly population: PopulationSettings
  readonly optimiser: OptimiserSettings
  readonly synchroniser: SynchroniserSettings
  /** In epochs. */
  readonly average: EvaluationAverage | undefined
  readonly until: UntilSettings
  readonly labelSmoothing: number | undefined
  readonly topK: number | undefined
  readonly freeze: readonly string[]
  readonly precision: Precision
  readonly backend: EngineBackend
  readonly seed: number
  /** undefined: random. */
  readonly initialWeights: InitialWeightsOptions | undefined
  readonly threads: number
  readonly devices: DevicesSettings
  /** Address of the learner's module, where it is not the built-in one. */
  readonly learner: URL | undefined
  readonly learnerOptions: unknown
  readonly supervision: SupervisionSettings
  readonly trace: TraceSettings | undefined
  readonly trial: TrialSettings
  readonly watch: WatchSettings
  readonly records: RecordSettings
  readonly checkpoint: CheckpointSettings | undefined
  readonly onNaN: NotFiniteSettings | undefined
  /** Every rate is multiplied by it: 1 until a loss was not finite. */
  readonly learningRateScale: number
}

/** Time enough to learn a few batches by heart. */
const BY_HEART = { steps: 500 }

const NAMES: OptionNames<TrainOptions> = {
  model: true,
  size: true,
  data: true,
  dataDir: true,
  context: true,
  images: true,
  batch: true,
  learners: true,
  optimiser: true,
  synchroniser: true,
  average: true,
  until: true,
  labelSmoothing: true,
  topK: true,
  freeze: true,
  precision: true,
  backend: true,
  seed: true,
  initialWeights: true,
  threads: true,
  devices: true,
  hosts: true,
  levels: true,
  signal: true,
  learner: true,
  learnerOptions: true,
  supervision: true,
  trace: true,
  dryRun: true,
  overfit: true,
  evaluateEvery: true,
  keep: true,
  onEvaluated: true,
  onEvaluatedDeadline: true,
  log: true,
  logDir: true,
  tensorboard: true,
  checkpoint: true,
  onNaN: true
}

/** Every option checked, before any work is done. Throws INVALID_OPTION and UNKNOWN_NAME, with all faults at once as `data.faults`. */
export function settingsOf(given: TrainOptions): Settings {
  const checks = new OptionChecks()
  const settings = checkedSettings(checks, given)
  checks.done()
  return settings
}

/** One group of options a file of `settings/`: a new option is checked there. */
function checkedSettings(checks: OptionChecks, given: TrainOptions): Settings {
  const options = checks.group('options', given, NAMES)
  // There is nothing to look into.
  if (options !== given) checks.done()
  const subject = subjectSettings(checks, options)
  const defaults = defaultsFor(typeof subject.model === 'string' ? subject.model : subject.model?.name)
  const threads = checks.whole('threads', options.threads ?? 1, 1, 1024)
  const isSound = (learners: number) => {
    const alone = new OptionChecks()
    synchroniserSettings(alone, options.synchroniser, learners, defaults)
    return alone.none
  }
  const devices = devicesSettings(checks, options)
  const population = learnersSettings(checks, options.learners, { threads, devices: devices.devices, isSound })
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal))
    checks.refuse('signal', options.signal, 'give an AbortSignal')
  const most = Math.max(...population.schedule.map(({ learners }) => learners))
  const batch = checks.whole('batch', options.batch ?? defaults.batch, 1, 2 ** 20)
  return {
    ...subject,
    learners: population.schedule[0]!.learners,
    population,
    batch,
    optimiser: optimiserSettings(checks, options.optimiser, {
      defaults: endsByTimeAlone(options.until) ? { ...defaults, schedule: 'multistep' } : defaults,
      batch,
      nesterov: hasNesterovLearners(options.synchroniser),
      adds: addsUpdates(options.synchroniser)
    }),
    synchroniser: synchroniserSettings(checks, options.synchroniser, most, defaults),
    average: averageSettings(checks, options.average),
    labelSmoothing:
      options.labelSmoothing === undefined
        ? undefined
        : checks.real('labelSmoothing', options.labelSmoothing, 'from 0 to below 1', (value) => value >= 0 && value < 1),
    topK: options.topK === undefined ? undefined : checks.whole('topK', options.topK, 1, 2 ** 30),
    freeze: patterns(checks, options.freeze ?? []),
    until: untilSettings(checks, options.until ?? (options.overfit === undefined ? undefined : BY_HEART), defaults),
    precision: checks.name('precision', options.precision ?? 'f32', ['f32', 'bf16']),
    backend: checkedBackend(checks, options.backend),
    seed: checks.whole('seed', options.seed ?? 1, 0),
    initialWeights: initialSettings(checks, options.initialWeights),
    threads,
    devices,
    learner: learnerModule(checks, options.learner),
    learnerOptions: learnerOptions(checks, options.learnerOptions),
    supervision: supervisionSettings(checks, options.supervision),
    trace: traceSettings(checks, options.trace),
    trial: trialSettings(checks, options),
    watch: watchSettings(checks, options),
    records: recordSettings(checks, options),
    checkpoint: checkpointSettings(checks, options.checkpoint),
    onNaN: notFiniteSettings(checks, options.onNaN),
    learningRateScale: 1
  }
}

function patterns(checks: OptionChecks, freeze: unknown): readonly string[] {
  if (Array.isArray(freeze) && freeze.every((pattern) => typeof pattern === 'string' && pattern !== '')) return freeze as readonly string[]
  checks.refuse('freeze', freeze, 'use a list of names of layers or parameters')
  return []
}

/** Samples that a learner takes in an iteration. */
export function iterationSamples({ batch, optimiser }: Pick<Settings, 'batch' | 'optimiser'>): number {
  return batch * (optimiser.update.accumulate ?? 1)
}

/** The stand-in for GPUs is for tests: it is taken, and not spoken of. */
function checkedBackend(checks: OptionChecks, given: EngineBackend = 'cpu'): EngineBackend {
  return given === 'cuda-host' ? given : checks.name('backend', given, BACKENDS)
}
