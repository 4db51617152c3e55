import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { sma, type Sma } from '../actors/sync/sma.js'
import type { Supervision } from '../actors/supervisor.js'
import type { BackendName, Precision } from '../compiler/program.js'
import type { Dataset } from '../data/dataset.js'
import { datasetNames } from '../data/open.js'
import { usableCores } from '../engine/machine.js'
import { invalidOption, unknownName } from '../errors.js'
import type { Model } from '../model/model.js'
import { zoo } from '../model/zoo/index.js'
import { onlyKeys, real, whole } from './checks.js'
import { defaultsFor } from './defaults.js'
import type { OptimiserOptions, SupervisionOptions, TrainOptions, UntilOptions } from './options.js'

/** A run's options, checked and complete. */
export interface Settings {
  readonly model: Model | string
  readonly data: Dataset | string
  readonly dataDir: string | undefined
  readonly batch: number
  readonly learners: number
  readonly optimiser: OptimiserSettings
  readonly sma: Sma
  readonly until: { readonly epochs: number; readonly steps: number }
  readonly precision: Precision
  readonly backend: BackendName
  readonly seed: number
  readonly threads: number
  /** Address of the learner's module, where it is not the built-in one. */
  readonly learner: URL | undefined
  readonly learnerOptions: unknown
  readonly supervision: Supervision
}

export interface OptimiserSettings {
  readonly rate: number
  readonly momentum: number
  readonly weightDecay: number
  readonly nesterov: boolean
  readonly milestones: Milestones
  readonly decay: number
}

/** Where the rate drops: in epochs, or in shares of the run. */
export interface Milestones {
  readonly unit: 'epochs' | 'run'
  readonly at: readonly number[]
}

const MOST_LEARNERS = 1024
const DEFAULT_DATA = 'digits'
const OPTIONS = [
  'model',
  'data',
  'dataDir',
  'batch',
  'learners',
  'optimiser',
  'synchroniser',
  'until',
  'precision',
  'backend',
  'seed',
  'threads',
  'signal',
  'learner',
  'learnerOptions',
  'supervision'
]

/** Every option checked, before any work is done. Throws INVALID_OPTION and UNKNOWN_NAME. */
export function settingsOf(options: TrainOptions): Settings {
  onlyKeys('options', options, OPTIONS)
  const { model, data = DEFAULT_DATA, dataDir, synchroniser = {}, precision = 'f32', backend = 'cpu' } = options
  checkModel(model)
  checkData(data)
  if (dataDir !== undefined && typeof dataDir !== 'string') throw invalidOption('dataDir', dataDir, 'give the path of a folder')
  if (precision !== 'f32' && precision !== 'bf16') throw unknownName('precision', precision, ['f32', 'bf16'])
  if (backend !== 'cpu' && backend !== 'reference') throw unknownName('backend', backend, ['cpu', 'reference'])
  onlyKeys('synchroniser', synchroniser, ['name', 'period', 'alpha', 'syncMomentum'])
  const { name = 'sma', ...numbers } = synchroniser
  if (name !== 'sma') throw unknownName('synchroniser.name', name, ['sma'])
  const defaults = defaultsFor(typeof model === 'string' ? model : model.name)
  const learners = whole('learners', options.learners ?? usableCores(), 1, MOST_LEARNERS)
  return {
    model,
    data,
    dataDir,
    batch: whole('batch', options.batch ?? defaults.batch, 1, 2 ** 20),
    learners,
    optimiser: optimiserOf(options.optimiser ?? {}, defaults),
    sma: sma({ syncMomentum: defaults.syncMomentum, ...numbers }, learners),
    until: untilOf(options.until ?? {}, defaults.epochs),
    precision,
    backend,
    seed: whole('seed', options.seed ?? 1, 0),
    threads: whole('threads', options.threads ?? 1, 1, 1024),
    learner: options.learner === undefined ? undefined : learnerModule(options.learner),
    learnerOptions: postable(options.learnerOptions),
    supervision: supervisionOf(options.supervision ?? {})
  }
}

function learnerModule(learner: unknown): URL {
  if (!(learner instanceof URL) && (typeof learner !== 'string' || learner === ''))
    throw invalidOption('learner', learner, 'give the URL of a module, or the path of its file')
  const module = learner instanceof URL ? learner : /^(file|data):/.test(learner) ? new URL(learner) : pathToFileURL(resolve(learner))
  if (module.protocol === 'file:' && !existsSync(fileURLToPath(module)))
    throw invalidOption(
      'learner',
      learner instanceof URL ? learner.href : learner,
      'there is no such file: name a module that exports a learner'
    )
  return module
}

function postable(learnerOptions: unknown): unknown {
  try {
    structuredClone(learnerOptions)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw invalidOption('learnerOptions', learnerOptions, `it cannot be posted to a thread (${why}); use plain data and shared memory`)
  }
  return learnerOptions
}

function supervisionOf(options: SupervisionOptions): Supervision {
  onlyKeys('supervision', options, ['restarts', 'window', 'deadline'])
  const { restarts = 3, window = 60_000, deadline = 60_000 } = options
  return {
    restarts: whole('supervision.restarts', restarts, 0),
    window: real('supervision.window', window, 'of milliseconds above 0', (value) => value > 0),
    // A timer takes no more.
    deadline: real('supervision.deadline', deadline, 'of milliseconds from 1 to 2147483647', (value) => value >= 1 && value < 2 ** 31)
  }
}

function checkModel(model: unknown): void {
  if (typeof model === 'string') {
    if (!Object.hasOwn(zoo, model)) throw unknownName('model', model, Object.keys(zoo))
  } else if (typeof model !== 'object' || model === null) {
    throw invalidOption('model', model, 'give a Model, or the name of one in the zoo')
  }
}

function checkData(data: unknown): void {
  if (typeof data === 'string') {
    if (!datasetNames.includes(data)) throw unknownName('data', data, datasetNames)
  } else if (typeof data !== 'object' || data === null) {
    throw invalidOption('data', data, 'give a Dataset, or the name of one')
  }
}

function optimiserOf(options: OptimiserOptions, defaults: ReturnType<typeof defaultsFor>): OptimiserSettings {
  onlyKeys('optimiser', options, ['rate', 'momentum', 'weightDecay', 'nesterov', 'milestones', 'decay'])
  const { rate = defaults.rate, momentum = defaults.momentum, weightDecay = defaults.weightDecay, decay = defaults.decay } = options
  const { nesterov = false } = options
  if (typeof nesterov !== 'boolean') throw invalidOption('optimiser.nesterov', nesterov, 'use true or false')
  if (nesterov && momentum === 0) throw invalidOption('optimiser.nesterov', nesterov, 'it wants a momentum above 0')
  return {
    rate: real('optimiser.rate', rate, 'above 0', (value) => value > 0),
    momentum: real('optimiser.momentum', momentum, 'from 0 to below 1', (value) => value >= 0 && value < 1),
    weightDecay: real('optimiser.weightDecay', weightDecay, 'of at least 0', (value) => value >= 0),
    decay: real('optimiser.decay', decay, 'above 0, at most 1', (value) => value > 0 && value <= 1),
    nesterov,
    milestones: options.milestones
      ? { unit: 'epochs', at: checkedMilestones(options.milestones) }
      : { unit: 'run', at: defaults.milestones }
  }
}

function checkedMilestones(milestones: unknown): readonly number[] {
  const rising =
    Array.isArray(milestones) && milestones.every((at, i, all) => Number.isFinite(at) && at > (i === 0 ? 0 : (all[i - 1] as number)))
  if (!rising) throw invalidOption('optimiser.milestones', milestones, 'use a list of epochs above 0, each later than the one before')
  return milestones as readonly number[]
}

function untilOf(options: UntilOptions, defaultEpochs: number): Settings['until'] {
  onlyKeys('until', options, ['epochs', 'steps'])
  const { epochs, steps } = options
  return {
    epochs:
      epochs === undefined
        ? steps === undefined
          ? defaultEpochs
          : Infinity
        : real('until.epochs', epochs, 'above 0', (value) => value > 0),
    steps: steps === undefined ? Infinity : whole('until.steps', steps, 1)
  }
}
