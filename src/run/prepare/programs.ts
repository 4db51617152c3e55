import { compileInPieces, type CompileOptions } from '../../compiler/compile.js'
import type { LoweringBackend, Program } from '../../compiler/program.js'
import { isStreamed, type Dataset } from '../../data/dataset.js'
import { invalidOption } from '../../errors.js'
import { elements } from '../../model/graph.js'
import type { Model } from '../../model/model.js'
import type { Settings } from '../../options/settings.js'
import type { Pieces } from '../../turns.js'
import { checkSamples, EVALUATION_BATCH, evaluationPasses, hasSoftTargets, type ProgramPass } from '../../trained/programs.js'

/** All programs of a run; they share one parameter layout. */
export interface RunPrograms {
  readonly train: Program
  /** Estimates batch-norm statistics, from the same training samples every time; absent if the model has no batch norm. */
  readonly statistics: ProgramPass | undefined
  readonly evaluate: readonly ProgramPass[]
  readonly predict: Program
}

/** Enough samples to know the mean and variance of a batch norm to a fraction of a percent, since each pixel counts. */
const STATISTICS_SAMPLES = 2048
/** The most bytes of streamed samples that are kept in memory for the statistics. Large samples have more pixels, so fewer are enough. */
const STATISTICS_BYTES = 2 ** 27

/** Compiles them, an operator at a time; `placed`: the layout of their parameters and the tier of their vectors, if that is known. Throws what `compile` throws, and SHAPE_MISMATCH if the data does not suit the model. */
export function* compilePrograms(
  model: Model,
  dataset: Dataset,
  settings: Settings,
  backend: LoweringBackend,
  placed: Pick<CompileOptions, 'parameters' | 'vectors'> = {}
): Pieces<RunPrograms> {
  checkSamples(model, dataset)
  const { precision, topK } = settings
  const { mean, std } = dataset
  const options = trainingOptions(model, dataset, settings)
  const train = yield* compileInPieces(model, backend, { ...options, ...placed, mode: 'train' })
  const { parameters } = train
  const { vectors } = placed
  const predict = yield* compileInPieces(model, backend, { mode: 'predict', batch: EVALUATION_BATCH, precision, parameters, vectors })
  const evaluate = yield* evaluationPasses(model, dataset, { predict, load: { mean, std }, topK, vectors }, backend)
  const hasStatistics = train.arenas.statistics + predict.arenas.statistics > 0
  const statistics = (batch: number) =>
    compileInPieces(model, backend, {
      mode: 'statistics',
      batch,
      precision,
      load: options.load ?? {},
      softTargets: options.softTargets ?? false,
      parameters,
      vectors
    })
  return { train, evaluate, predict, statistics: hasStatistics ? yield* statisticsPass(dataset, statistics) : undefined }
}

/** How the training step is compiled; with its parameter layout, how other programs over its weights are. Throws INVALID_OPTION. */
export function trainingOptions(
  model: Model,
  dataset: Dataset,
  { batch, precision, optimiser, freeze }: Settings
): Omit<CompileOptions, 'mode' | 'parameters' | 'loss'> {
  const { name, train, mean, std, augmentation } = dataset
  // A batch of streamed samples does not say of which epoch they are.
  if (isStreamed(train) && augmentation.flip === 'alternate')
    throw invalidOption('augmentation.flip', 'alternate', `use true or false: the samples of ${name} are streamed`)
  const load = { mean, std, shuffled: true, ...augmentation }
  return { batch, precision, optimiser: optimiser.update, freeze, load, softTargets: hasSoftTargets(model, dataset) }
}

function* statisticsPass({ train }: Dataset, compiling: (batch: number) => Pieces<Program>): Pieces<ProgramPass> {
  const bytes = elements(train.sample)
  const most = isStreamed(train) ? Math.max(1, Math.floor(STATISTICS_BYTES / bytes)) : Infinity
  const samples = Math.min(STATISTICS_SAMPLES, train.count, most)
  const batch = Math.min(EVALUATION_BATCH, samples)
  return { program: yield* compiling(batch), batch, steps: Math.floor(samples / batch), position: 0 }
}
