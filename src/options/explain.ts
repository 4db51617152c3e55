import { BACKENDS, type BackendName, type Precision } from '../compiler/program.js'
import { invalidOption } from '../errors.js'
import type { Model } from '../model/model.js'
import { familyOf, modelNamed, type GptOptions } from '../model/zoo/index.js'
import { defaultsFor } from './defaults.js'
import { modelSize } from './model-size.js'
import { OptionChecks, type OptionNames } from './option-checks.js'

/** What `explain` takes. Whatever is left out gets the default that `train` would give it. */
export interface ExplainOptions {
  /** A Model, or the name of one in the zoo. */
  readonly model: Model | string
  /** Of model `gpt`, where it is not the usual one. */
  readonly size?: GptOptions
  /** One sample's shape, for a model of the zoo: that of the data it is usually trained on if left out. */
  readonly input?: readonly number[]
  readonly classes?: number
  /** Samples a learner takes in a step. */
  readonly batch?: number
  /** 1 if left out. */
  readonly learners?: number
  /** Threads of one learner. */
  readonly threads?: number
  readonly precision?: Exclude<Precision, 'f64'>
  readonly backend?: BackendName
  /** What the time floor assumes, in the place of what is measured: floating-point operations a second, and bytes a second from and to memory. */
  readonly flopsPerSecond?: number
  readonly bytesPerSecond?: number
}

const NAMES: OptionNames<ExplainOptions> = {
  model: true,
  size: true,
  input: true,
  classes: true,
  batch: true,
  learners: true,
  threads: true,
  precision: true,
  backend: true,
  flopsPerSecond: true,
  bytesPerSecond: true
}

export type ExplainSettings = Required<
  Omit<ExplainOptions, 'model' | 'size' | 'input' | 'classes' | 'flopsPerSecond' | 'bytesPerSecond'>
> & {
  readonly model: Model
  readonly flopsPerSecond?: number
  readonly bytesPerSecond?: number
}

/** Every option checked, and the model made. Throws INVALID_OPTION, UNKNOWN_NAME, and SHAPE_MISMATCH for an input that does not fit. */
export function explainSettings(given: ExplainOptions): ExplainSettings {
  const checks = new OptionChecks()
  const options = checks.group('options', given, NAMES)
  if (options !== given) checks.done()
  const { model = '', input, classes, learners = 1, threads = 1, precision = 'f32', backend = 'cpu' } = options
  const batch = options.batch ?? defaultsFor(typeof model === 'string' ? model : model?.name).batch
  const speed = (path: 'flopsPerSecond' | 'bytesPerSecond') =>
    options[path] === undefined ? {} : { [path]: checks.real(path, options[path], 'above 0', (value) => value > 0) }
  const settings = {
    batch: checks.whole('batch', batch, 1, 2 ** 20),
    learners: checks.whole('learners', learners, 1, 1024),
    threads: checks.whole('threads', threads, 1, 1024),
    precision: checks.name('precision', precision, ['f32', 'bf16']),
    backend: checks.name('backend', backend, BACKENDS),
    ...speed('flopsPerSecond'),
    ...speed('bytesPerSecond')
  }
  if (typeof model !== 'string' && (typeof model !== 'object' || model === null))
    checks.refuse('model', model, 'give a Model, or the name of one in the zoo')
  if (input !== undefined && (!Array.isArray(input) || !input.every((extent) => Number.isSafeInteger(extent) && extent >= 1)))
    checks.refuse('input', input, 'give the shape of one sample, such as [3, 224, 224]')
  if (classes !== undefined) checks.whole('classes', classes, 1, 2 ** 24)
  const size = modelSize(checks, options.size, model)
  checks.done()
  return { ...settings, model: modelOf(model, input, classes, size) }
}

function modelOf(
  model: Model | string,
  input: readonly number[] | undefined,
  classes: number | undefined,
  size: GptOptions | undefined
): Model {
  if (typeof model === 'string') {
    const usual = familyOf(model)?.usual
    const shape = input ?? usual?.input ?? []
    return modelNamed(model, { input: shape, classes: classes ?? usual?.classes ?? 10 }, size)
  }
  if (classes !== undefined) throw invalidOption('classes', classes, 'leave it out: the model says itself what it gives')
  return input === undefined ? model : { ...model, input }
}
