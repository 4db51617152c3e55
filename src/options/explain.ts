import { invalidOption } from '../errors.js'
import type { Model } from '../model/model.js'
import { familyOf, modelNamed, type GptOptions } from '../model/zoo/index.js'
import { Faults } from '../schema/faults.js'
import { group, option, required, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { realFromText, type FromText } from '../schema/from-text.js'
import { list, real, whole } from '../schema/values.js'
import { clusterOptions, clusterSettings, type ClusterSettings } from './cluster.js'
import { defaultsFor } from './defaults.js'
import { backendName, devicesOptions } from './devices.js'
import { learnersOptions } from './learners.js'
import { checkSize, modelOptions, modelOrName } from './model.js'

/** Sizes that are joined by `x` or commas. */
export const shapeFromText: FromText = (given, refuse) => {
  if (/^[1-9]\d*([x,][1-9]\d*)*$/.test(given)) return given.split(/[x,]/).map(Number)
  throw refuse('use sizes joined by x, such as 3x224x224')
}

/** A number in units of 10^9. */
const billions: FromText = (given, refuse) => {
  const value = realFromText(given, refuse) as number
  if (value > 0) return 1e9 * value
  throw refuse('use a number above 0')
}

export const explainOptions = group({
  /** A Model, or the name of one in the zoo. */
  model: required(modelOrName, modelOptions.model.about),
  /** The size of model `gpt`. */
  size: modelOptions.size,
  /** One sample's shape, for a model of the zoo: if omitted, that of the data that it is usually trained on. */
  input: option(list(whole({ min: 1 }), 'the shape of one sample, such as [3, 224, 224]'), {
    text: "one sample's shape: 3x224x224, or 784",
    flag: '--input <shape>',
    fromText: shapeFromText,
    otherwise: 'that of its usual data'
  }),
  /** The number of classes, for a model of the zoo. */
  classes: option(whole({ min: 1, max: 2 ** 24 }), {
    text: 'classes that it tells apart',
    flag: '--classes <count>',
    otherwise: 'those of its usual data'
  }),
  /** Samples that a learner takes in a step. */
  batch: learnersOptions.batch,
  /** 1 if omitted. */
  learners: option(whole({ min: 1, max: 1024 }), { text: 'learners that train together', flag: '--learners <count>', default: 1 }),
  /** Threads of one learner. */
  threads: learnersOptions.threads,
  precision: devicesOptions.precision,
  backend: option(backendName, { ...devicesOptions.backend.about, default: 'cpu' }),
  /** The most memory that a run takes of a device; if given, the explanation is that of a run within it. */
  deviceMemory: devicesOptions.deviceMemory,
  /** A folder to which such a run may move values. */
  spill: devicesOptions.spill,
  /** Floating-point operations a second to assume instead of measuring them. */
  flopsPerSecond: option(real({ above: 0 }), {
    text: 'GFLOP/s of the processor, instead of measuring them',
    flag: '--gflops <number>',
    fromText: billions
  }),
  /** Bytes a second from and to memory to assume instead of measuring them. */
  bytesPerSecond: option(real({ above: 0 }), {
    text: 'GB/s of memory, instead of measuring them',
    flag: '--gbs <number>',
    fromText: billions
  })
})

const ofStep = explainOptions.entries

export const predictOptions = group({
  model: ofStep.model,
  size: ofStep.size,
  input: ofStep.input,
  classes: ofStep.classes,
  batch: ofStep.batch,
  threads: ofStep.threads,
  precision: ofStep.precision,
  backend: ofStep.backend,
  flopsPerSecond: ofStep.flopsPerSecond,
  bytesPerSecond: ofStep.bytesPerSecond,
  ...clusterOptions.entries
})

/** The options of `predict`: a model, as `explain` takes it, and the machines that are to train it. */
export interface PredictOptions extends GivenOptions<typeof predictOptions>, ToldByName {}

/** The options of `explain`. Omitted ones get the default that `train` would give them. */
export interface ExplainOptions extends GivenOptions<typeof explainOptions>, ToldByName {}

type Checked = CheckedOptions<typeof explainOptions>

export interface ExplainSettings extends Omit<Checked, 'model' | 'size' | 'input' | 'classes' | 'batch'> {
  readonly model: Model
  readonly batch: number
}

/** Checks every option and makes the model. Throws INVALID_OPTION, UNKNOWN_NAME, and SHAPE_MISMATCH for an input that does not fit. */
export function explainSettings(given: ExplainOptions): ExplainSettings {
  const faults = new Faults()
  const { model, size, input, classes, ...settings } = faults.checked(explainOptions, given, { root: explainOptions.entries })
  checkSize(faults, size, model)
  faults.throwAny()
  const { batch = usualBatch(model) } = settings
  return { ...settings, batch, model: modelOf(model, { input, classes, size }) }
}

export interface PredictSettings {
  readonly model: Model
  readonly batch: number
  readonly step: Pick<ExplainSettings, 'threads' | 'precision' | 'backend' | 'flopsPerSecond' | 'bytesPerSecond'>
  readonly cluster: ClusterSettings
}

/** Checks every option and makes the model. Throws INVALID_OPTION, UNKNOWN_NAME, and SHAPE_MISMATCH for an input that does not fit. */
export function predictSettings(given: PredictOptions): PredictSettings {
  const faults = new Faults()
  const { hosts, gpus, link, oversubscription, rack, gpuLink, hub, ...checked } = faults.checked(predictOptions, given, {
    root: predictOptions.entries
  })
  checkSize(faults, checked.size, checked.model)
  const cluster = clusterSettings(faults, { hosts, gpus, link, oversubscription, rack, gpuLink, ...(hub !== undefined && { hub }) })
  faults.throwAny()
  const { model, size, input, classes, batch = usualBatch(model), ...step } = checked
  return { model: modelOf(model, { input, classes, size }), batch, step, cluster }
}

function usualBatch(model: Model | string): number {
  return defaultsFor(typeof model === 'string' ? model : model.name).batch
}

interface Sizes {
  readonly input: readonly number[] | undefined
  readonly classes: number | undefined
  readonly size: GptOptions | undefined
}

function modelOf(model: Model | string, { input, classes, size }: Sizes): Model {
  if (typeof model === 'string') {
    const usual = familyOf(model)?.usual
    const shape = input ?? usual?.input ?? []
    return modelNamed(model, { input: shape, classes: classes ?? usual?.classes ?? 10 }, size)
  }
  if (classes !== undefined) throw invalidOption('classes', classes, 'leave it out: the model itself has its number of classes')
  return input === undefined ? model : { ...model, input }
}
