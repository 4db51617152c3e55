import { compile, type CompileOptions } from '../compiler/compile.js'
import type { LoweringBackend, Precision, Program } from '../compiler/program.js'
import { answersOf, type Dataset, isStreamed } from '../data/dataset.js'
import { ArbalestError, shown } from '../errors.js'
import { elements } from '../model/graph.js'
import type { Model } from '../model/model.js'
import type { Settings } from '../options/settings.js'

/** A program and the part of a data set that it runs over. */
export interface ProgramPass {
  readonly program: Program
  readonly batch: number
  readonly steps: number
  readonly position: number
  readonly countsTop?: boolean
}

/** All programs of a run; they share one parameter layout. */
export interface Programs {
  readonly train: Program
  /** Over the same training samples each time; absent where the model has no batch norm. */
  readonly statistics: ProgramPass | undefined
  /** Over every test sample once: whole batches, then the rest. */
  readonly evaluate: readonly ProgramPass[]
  readonly predict: Program
}

/** Small enough for a core's cache, large enough for a few threads. */
export const EVALUATION_BATCH = 64

/** Enough for a batch norm's mean and variance to be known to a fraction of a percent: its every pixel counts. */
const STATISTICS_SAMPLES = 2048
/** Samples that stream are kept for it: of large ones fewer, for they have the more pixels. */
const STATISTICS_BYTES = 2 ** 27

/** Throws what `compile` throws, and SHAPE_MISMATCH where the data does not suit the model. */
export function programsOf(model: Model, dataset: Dataset, settings: Settings, backend: LoweringBackend): Programs {
  checkSamples(model, dataset)
  const { precision, topK } = settings
  const { mean, std } = dataset
  const options = trainingOptions(dataset, settings)
  const train = compile(model, backend, { ...options, mode: 'train' })
  const like = (mode: CompileOptions['mode'], batch: number, load: CompileOptions['load'] = {}) =>
    compile(model, backend, { mode, batch, precision, load, parameters: train.parameters })
  const predict = like('predict', EVALUATION_BATCH)
  checkTargets(model, dataset, predict)
  return {
    train,
    evaluate: passes(dataset.test.count).map((pass) => ({
      ...pass,
      ...(topK !== undefined && { countsTop: true }),
      program: compile(model, backend, {
        mode: 'evaluate',
        batch: pass.batch,
        precision,
        load: { mean, std },
        parameters: train.parameters,
        ...(topK !== undefined && { topK })
      })
    })),
    predict,
    statistics: train.arenas.statistics + predict.arenas.statistics === 0 ? undefined : statisticsPass(dataset, like, options.load)
  }
}

/** The programs that measure a model by itself, in the layout of the one that predicts. Throws SHAPE_MISMATCH as `programsOf` does. */
export function evaluationOf(
  model: Model,
  dataset: Dataset,
  { predict, load }: { readonly predict: Program; readonly load: NonNullable<CompileOptions['load']> },
  backend: LoweringBackend
): readonly ProgramPass[] {
  checkSamples(model, dataset)
  checkTargets(model, dataset, predict)
  const { parameters, precision } = predict
  return passes(dataset.test.count).map((pass) => ({
    ...pass,
    program: compile(model, backend, { mode: 'evaluate', batch: pass.batch, precision, load, parameters })
  }))
}

/** A batch of samples goes from `input` to `output`. */
export function predictionOf(model: Model, precision: Precision, backend: LoweringBackend): Program {
  return compile(model, backend, { mode: 'predict', batch: EVALUATION_BATCH, precision })
}

/** How a job's training step is compiled; with the step's own layout, how other programs over its weights are. */
export function trainingOptions(
  { mean, std, augmentation }: Dataset,
  { batch, precision, optimiser, freeze }: Settings
): Omit<CompileOptions, 'mode' | 'parameters' | 'loss'> {
  return { batch, precision, optimiser: optimiser.update, freeze, load: { mean, std, shuffled: true, ...augmentation } }
}

function statisticsPass(
  { train }: Dataset,
  like: (mode: 'statistics', batch: number, load: CompileOptions['load']) => Program,
  load: CompileOptions['load']
): ProgramPass {
  const bytes = elements(train.sample)
  const most = isStreamed(train) ? Math.max(1, Math.floor(STATISTICS_BYTES / bytes)) : Infinity
  const samples = Math.min(STATISTICS_SAMPLES, train.count, most)
  const batch = Math.min(EVALUATION_BATCH, samples)
  const steps = Math.floor(samples / batch)
  return { program: like('statistics', batch, load), batch, steps, position: 0 }
}

/** How many answers of a sample can be right or wrong: those of its classes, or one for targets that are each for or against. */
export function answersTo({ loss }: Model, dataset: Dataset): number {
  return loss === 'binaryCrossEntropy' ? 1 : answersOf(dataset)
}

/** Whole batches, then what is left as a smaller one. */
function passes(samples: number): Omit<ProgramPass, 'program'>[] {
  const steps = Math.floor(samples / EVALUATION_BATCH)
  const position = steps * EVALUATION_BATCH
  return [
    ...(steps > 0 ? [{ batch: EVALUATION_BATCH, steps, position: 0 }] : []),
    ...(position < samples ? [{ batch: samples - position, steps: 1, position }] : [])
  ]
}

function checkSamples(model: Model, dataset: Dataset): void {
  if (dataset.train.count < 1 || dataset.test.count < 1)
    throw new ArbalestError(
      'SHAPE_MISMATCH',
      `data ${dataset.name}: it has no samples to train on or to be measured on; give it some of each`
    )
  if (shown(model.input) !== shown(dataset.sample))
    throw new ArbalestError(
      'SHAPE_MISMATCH',
      `data ${dataset.name}: its samples are ${shown(dataset.sample)} where model ${model.name} takes ${shown(model.input)}; give the model the data's shape as its input`
    )
}

function checkTargets(model: Model, dataset: Dataset, predict: Program): void {
  const output = predict.values[predict.named['output']!]!.shape.slice(1)
  const tokens = dataset.train.stride === undefined ? [] : dataset.sample
  const wanted = dataset.classes > 0 ? [...tokens, dataset.classes] : [...(dataset.train.target ?? [])]
  const asClasses = model.loss === 'softmaxCrossEntropy'
  if (asClasses === dataset.classes > 0 && shown(output) === shown(wanted)) return
  if (!asClasses && dataset.classes > 0)
    throw new ArbalestError(
      'SHAPE_MISMATCH',
      `model ${model.name}: its loss ${model.loss} takes targets of the output's shape where data ${dataset.name} has ${dataset.classes} classes; use softmaxCrossEntropy, or data with targets`
    )
  const targets = dataset.classes > 0 ? `${dataset.classes} classes` : `targets ${shown(wanted)}`
  const message = `model ${model.name}: it gives ${shown(output)} under ${model.loss} where data ${dataset.name} has ${targets}; change its last layer or its loss`
  throw new ArbalestError('SHAPE_MISMATCH', message)
}
