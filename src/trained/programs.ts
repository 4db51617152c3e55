import type { BatchRange } from '../actors/sources.js'
import { compileInPieces, type CompileOptions } from '../compiler/compile.js'
import type { LoweringBackend, Precision, Program } from '../compiler/program.js'
import { answersOf, isStreamed, type Dataset } from '../data/dataset.js'
import { ArbalestError, invalidOption, shown } from '../errors.js'
import { numberTarget } from '../formats/encoding.js'
import { targetMeans } from '../metrics/deviation-tally.js'
import { taskOf, type MetricName, type Task } from '../metrics/metric-names.js'
import type { MetricPlan } from '../metrics/metrics.js'
import { elements, sameShape } from '../model/graph.js'
import { takesTokens, type Model } from '../model/model.js'
import type { Pieces } from '../turns.js'

/** Samples in a batch of evaluation and prediction: small enough for a core's cache, large enough for a few threads. */
export const EVALUATION_BATCH = 64

/** A program, and the samples of a data set that it runs over. */
export interface ProgramPass extends BatchRange {
  readonly program: Program
  readonly countsTop?: boolean
}

export interface EvaluationRequest {
  /** The program that predicts; evaluation shares its parameter layout and precision. */
  readonly predict: Program
  /** The data's normalisation. */
  readonly load: NonNullable<CompileOptions['load']>
  /** If given, the programs count the samples whose class is among the `topK` likeliest. */
  readonly topK?: number | undefined
  /** Where the weights lie. */
  readonly vectors?: CompileOptions['vectors']
}

/** The program that predicts batch by batch. */
export function predictionProgram(model: Model, precision: Precision, backend: LoweringBackend): Pieces<Program> {
  return compileInPieces(model, backend, { mode: 'predict', batch: EVALUATION_BATCH, precision })
}

/** The programs that measure a model on every test sample once: in whole batches, and then in a smaller one. Throws SHAPE_MISMATCH, and INVALID_OPTION. */
export function* evaluationPasses(
  model: Model,
  dataset: Dataset,
  { predict, load, topK, vectors }: EvaluationRequest,
  backend: LoweringBackend
): Pieces<readonly ProgramPass[]> {
  checkSamples(model, dataset)
  checkTargets(model, dataset, predict)
  const { parameters, precision } = predict
  const counting = topK !== undefined
  const common = { mode: 'evaluate', precision, load, softTargets: hasSoftTargets(model, dataset), parameters, vectors } as const
  const passes: ProgramPass[] = []
  for (const range of batchRanges(dataset.test.count)) {
    const program = yield* compileInPieces(model, backend, {
      ...common,
      batch: range.batch,
      ...(counting && { topK })
    })
    passes.push({ ...range, ...(counting && { countsTop: true }), program })
  }
  return passes
}

/** Whether the data gives a classifier soft targets: a share of each class, such as another model's answer. */
export function hasSoftTargets({ loss }: Model, { classes }: Dataset): boolean {
  return loss === 'softmaxCrossEntropy' && classes === 0
}

/** As `answersOf`, but one for targets that are each for or against, or soft. */
export function answersPerSample(model: Model, dataset: Dataset): number | undefined {
  return model.loss === 'binaryCrossEntropy' || hasSoftTargets(model, dataset) ? 1 : answersOf(dataset)
}

/** What a model answers to. `predict` is its program that predicts. */
export function taskOfModel({ loss }: Model, predict: Program): Task {
  return taskOf(loss, predict.values[predict.named['output']!]!.shape.slice(1))
}

/** What evaluators have to tally for these metrics; undefined for none. */
export function metricPlan(names: readonly MetricName[], task: Task, { test, encoding }: Dataset): MetricPlan | undefined {
  if (names.length === 0) return undefined
  const unit = encoding && numberTarget(encoding)?.std
  return {
    task,
    names,
    ...(task.kind === 'numbers' && { pivots: test.targets ? targetMeans(test.targets, task.size) : Array<number>(task.size).fill(0) }),
    ...(unit !== undefined && { unit })
  }
}

function batchRanges(samples: number): BatchRange[] {
  const steps = Math.floor(samples / EVALUATION_BATCH)
  const position = steps * EVALUATION_BATCH
  return [
    ...(steps > 0 ? [{ batch: EVALUATION_BATCH, steps, position: 0 }] : []),
    ...(position < samples ? [{ batch: samples - position, steps: 1, position }] : [])
  ]
}

/** Whether the samples of a data set are ids of tokens, and not numbers or pixels. */
function hasTokens({ train }: Dataset): boolean {
  // By its tag, for an array may be of another realm.
  return !isStreamed(train) && (train.samples as Partial<typeof train.samples> | undefined)?.[Symbol.toStringTag] === 'Int32Array'
}

/** Throws SHAPE_MISMATCH if the model does not take the data's samples, and INVALID_OPTION for tokens that it does not know. */
export function checkSamples(model: Model, dataset: Dataset): void {
  if (dataset.train.count < 1 || dataset.test.count < 1)
    throw new ArbalestError(
      'SHAPE_MISMATCH',
      `data ${dataset.name}: it has no samples to train on or to be measured on; give it some of each`
    )
  if (!sameShape(model.input, dataset.sample))
    throw new ArbalestError(
      'SHAPE_MISMATCH',
      `data ${dataset.name}: its samples are ${shown(dataset.sample)} where model ${model.name} takes ${shown(model.input)}; give the model the data's shape as its input`
    )
  if (hasTokens(dataset) === takesTokens(model)) return checkTokens(model, dataset)
  const [found, taken] = hasTokens(dataset) ? ['ids of tokens', 'numbers'] : ['numbers', 'ids of tokens']
  const fix = hasTokens(dataset)
    ? 'begin it with an embedding, as text-classifier and gpt do'
    : 'begin it with another layer than an embedding'
  throw new ArbalestError(
    'SHAPE_MISMATCH',
    `data ${dataset.name}: its samples are ${found} where model ${model.name} takes ${taken}; ${fix}`
  )
}

/** Throws INVALID_OPTION for a token that the model's embedding has no row for. Windows of a text have been made for their model. */
function checkTokens({ name, layers }: Model, dataset: Dataset): void {
  const [first] = layers
  if (first?.kind !== 'embedding') return
  for (const part of ['train', 'test'] as const) {
    const { [part]: samples } = dataset
    if (isStreamed(samples) || samples.stride !== undefined) continue
    const index = (samples.samples as Int32Array).findIndex((token) => token >= first.tokens)
    if (index >= 0)
      throw invalidOption(
        `${part}.samples[${index}]`,
        samples.samples[index],
        `model ${name}: its embedding has ${first.tokens} tokens, from 0 to ${first.tokens - 1}: give it more, or correct the sample`
      )
  }
}

/** Throws SHAPE_MISMATCH if the model's output and loss do not suit the data's targets, and INVALID_OPTION for targets beyond what the loss takes. */
function checkTargets(model: Model, dataset: Dataset, predict: Program): void {
  const output = predict.values[predict.named['output']!]!.shape.slice(1)
  const { train } = dataset
  const labels = train.stride !== undefined ? dataset.sample : train.label && [elements(train.label)]
  const wanted = dataset.classes > 0 ? [...(labels ?? []), dataset.classes] : [...(train.target ?? [])]
  const asClasses = model.loss === 'softmaxCrossEntropy'
  const isSoft = hasSoftTargets(model, dataset) && output.length === 1 && output[0]! > 1
  if ((asClasses === dataset.classes > 0 || isSoft) && sameShape(output, wanted)) {
    if (model.loss === 'binaryCrossEntropy') checkLabels(model, dataset)
    if (isSoft) checkSoftTargets(model, dataset, output[0]!)
    return
  }
  if (!asClasses && dataset.classes > 0)
    throw new ArbalestError(
      'SHAPE_MISMATCH',
      `model ${model.name}: its loss ${model.loss} takes targets of the output's shape where data ${dataset.name} has ${dataset.classes} classes; use softmaxCrossEntropy, or data with targets`
    )
  const targets =
    dataset.classes === 0
      ? `targets ${shown(wanted)}`
      : train.label
        ? `a label of ${dataset.classes} classes at each of ${labels![0]} positions`
        : `${dataset.classes} classes`
  const atEach = output.length === wanted.length + 1 && sameShape(output.slice(1), wanted)
  const fix = atEach
    ? `it answers at each of ${output[0]} positions: put takePosition(-1) or meanPositions() before its last layer`
    : train.label
      ? `let it give ${shown(wanted)}: for labels of pixels end it in conv2d(${dataset.classes}, 1), imagePositions()`
      : 'change its last layer or its loss'
  const message = `model ${model.name}: it gives ${shown(output)} under ${model.loss} where data ${dataset.name} has ${targets}; ${fix}`
  throw new ArbalestError('SHAPE_MISMATCH', message)
}

/** Throws INVALID_OPTION unless each target is from 0 to 1: towards another one, such as a class number of 2, the binary cross-entropy falls without end. */
function checkLabels({ name, loss }: Model, dataset: Dataset): void {
  for (const [part, targets] of targetsOf(dataset)) {
    const index = targets.findIndex((target) => !(target >= 0 && target <= 1))
    if (index >= 0)
      throw invalidOption(
        `${part}.targets[${index}]`,
        targets[index],
        `model ${name}: its loss ${loss} takes targets from 0, for no, to 1, for yes: give data ${dataset.name} such ones, or use meanSquaredError`
      )
  }
}

/** How far from 1 the shares of a sample may be together: they are rounded. */
const SHARES_MISS = 1e-3

/** Throws INVALID_OPTION unless the targets of each sample are shares of the classes, and 1 together. */
function checkSoftTargets({ name, loss }: Model, dataset: Dataset, classes: number): void {
  for (const [part, targets] of targetsOf(dataset))
    for (let first = 0; first < targets.length; first += classes) {
      const shares = targets.subarray(first, first + classes)
      const sum = shares.reduce((total, share) => total + share, 0)
      if (Math.abs(sum - 1) <= SHARES_MISS && shares.every((share) => share >= 0)) continue
      throw invalidOption(
        `${part}.targets[${first}]`,
        [...shares],
        `model ${name}: its loss ${loss} takes soft targets, shares of the classes that are 1 together for each sample: give data ${dataset.name} such ones, or use binaryCrossEntropy or meanSquaredError`
      )
    }
}

/** The targets of the parts of a data set that have some. */
function targetsOf({ train, test }: Dataset): readonly (readonly [part: string, targets: Float32Array])[] {
  return Object.entries({ train, test }).flatMap(([part, samples]) => (samples.targets ? [[part, samples.targets] as const] : []))
}
