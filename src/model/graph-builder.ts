import { ArbalestError, invalidOption, shown, unknownName } from '../errors.js'
import { elements, NONE, parametersOf, type Attributes, type Graph, type Operator, type ValueId } from './graph.js'
import { GraphWriter } from './graph-writer.js'
import { shownShape } from './layer-checks.js'
import { LayerOperators } from './layer-operators.js'
import { checkModel } from './model-check.js'
import type { Model } from './model.js'
import type { Mode } from './operators/layer-writer.js'

export type { Mode } from './operators/layer-writer.js'

const MODES: readonly Mode[] = ['train', 'statistics', 'evaluate', 'predict']

/** How samples come into a batch. `evaluate` takes them in order and as they are: only `mean` and `std` count there. */
export interface LoadOptions {
  /** Zero pixels on every side before a random crop of the original size. */
  readonly padding?: number
  /** Mirrors every other sample, at random. */
  readonly flip?: boolean
  /** One for all channels or one a channel, of pixels in 0 to 1: x becomes (x - mean) / std. */
  readonly mean?: readonly number[]
  readonly std?: readonly number[]
  /** In a seeded random order, a new one every epoch. */
  readonly shuffled?: boolean
}

export interface BuildOptions {
  readonly batch: number
  readonly mode: Mode
  readonly load?: LoadOptions
  /** Where a training step's gradients begin; the model's own loss if left out. */
  readonly loss?: LossChoice
  /** Counts the samples whose class is among so many largest logits too, as the named value `amongTop`. */
  readonly topK?: number
  /** Parameters that stay as they are, besides those of frozen layers: names of parameters or layers, where `*` stands for anything. */
  readonly freeze?: readonly string[]
}

/**
 * - `model`: the model's own loss.
 * - `custom`: a caller's. Between forward and backward pass it reads `output` and writes `output.gradient`, the gradient of its loss with
 *   respect to the output, and `loss`, the loss itself, for reports.
 */
export type LossChoice = 'model' | 'custom'

/**
 * A Model's operators with every shape known.
 *
 * `train` and `evaluate` load a batch and end in the loss and the count of right answers; `statistics` loads a batch and folds its
 * batch-norm statistics; `predict` goes from `input`, written by the caller, to `output`. All four have the same parameters and the
 * same statistics in the same order.
 *
 * Throws SHAPE_MISMATCH and INVALID_MODEL, naming the layer, and INVALID_OPTION for the batch and for how samples are loaded.
 */
export function buildGraph(model: Model, { batch, mode, load = {}, loss: choice = 'model', topK, freeze = [] }: BuildOptions): Graph {
  if (!Number.isSafeInteger(batch) || batch < 1 || batch > 2 ** 31 - 1)
    throw invalidOption('batch', batch, 'use a whole number of at least 1')
  if (!MODES.includes(mode)) throw unknownName('mode', mode, MODES)
  if (choice !== 'model' && choice !== 'custom') throw unknownName('loss', choice, ['model', 'custom'])
  checkModel(model)
  checkClassification(model, topK)
  const writer = new GraphWriter()
  const input = writer.value('input', [batch, ...model.input], { role: 'input', type: takesTokens(model) ? 'integer' : 'float' })
  const layers = new LayerOperators(writer, mode)
  const output = layers.sequence(model.layers, input)
  freezeParameters(writer, freeze)
  layers.checkFrozen()
  if (mode === 'statistics') layers.foldStatistics()
  const target = mode === 'predict' ? NONE : addTarget(writer, model, output)
  const measured = mode === 'train' || mode === 'evaluate'
  const loss = !measured
    ? {}
    : choice === 'custom'
      ? addCustomLoss(writer, output)
      : addLoss(writer, model, { mode, ...(topK !== undefined && { topK }) }, output, target)
  const { values, operators } = writer.graph(model.name, batch, {})
  const loading: Operator = {
    kind: 'load',
    name: 'load',
    inputs: [],
    outputs: [input, target],
    attributes: loadAttributes(model, mode, load)
  }
  return {
    name: model.name,
    batch,
    values,
    operators: mode === 'predict' ? operators : [loading, ...operators],
    named: {
      input,
      ...(target !== NONE && { target }),
      ...(mode !== 'statistics' && { output }),
      ...loss,
      ...layers.named,
      ...Object.fromEntries(values.filter(({ role }) => role === 'statistic').map(({ name, id }) => [name, id]))
    },
    ...(layers.composed.length > 0 && { composed: layers.composed })
  }
}

/** How many numbers a model trains. */
export function parameterCount(model: Model): number {
  const parameters = parametersOf(buildGraph(model, { batch: 1, mode: 'predict' }))
  return parameters.reduce((sum, { shape }) => sum + elements(shape), 0)
}

/** Whether a model's samples are token ids. */
export function takesTokens({ layers }: Model): boolean {
  return layers[0]?.kind === 'embedding'
}

/** Throws UNKNOWN_NAME for a pattern that means none of the parameters, INVALID_OPTION where none is left to be trained. */
function freezeParameters(writer: GraphWriter, freeze: readonly string[]): void {
  const parameters = () => parametersOf(writer.graph('', 0, {}))
  for (const pattern of freeze) {
    const escaped = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '.*')
    const expression = new RegExp(`^${escaped}(\\..*)?$`)
    if (writer.freeze(0, (name) => expression.test(name)) === 0)
      throw unknownName('freeze', pattern, new Set(parameters().map(({ name }) => name.split('.')[0]!)))
  }
  if (parameters().length > 0 && parameters().every(({ frozen }) => frozen))
    throw invalidOption('freeze', freeze, 'leave a layer that learns: all are frozen')
}

/** Throws for what makes sense of classes alone, where the loss knows none. */
function checkClassification({ name, loss, labelSmoothing = 0 }: Model, topK: number | undefined): void {
  if (typeof labelSmoothing !== 'number' || !(labelSmoothing >= 0 && labelSmoothing < 1))
    throw new ArbalestError(
      'INVALID_MODEL',
      `model ${name}: labelSmoothing: received ${shown(labelSmoothing)}; use a number from 0 to less than 1`
    )
  if (labelSmoothing > 0 && loss !== 'softmaxCrossEntropy')
    throw new ArbalestError(
      'INVALID_MODEL',
      `model ${name}: labelSmoothing: received ${labelSmoothing} under ${loss}; use it with softmaxCrossEntropy`
    )
  if (topK === undefined) return
  if (!Number.isSafeInteger(topK) || topK < 1 || topK > 2 ** 30) throw invalidOption('topK', topK, 'use a whole number of at least 1')
  if (loss !== 'softmaxCrossEntropy') throw invalidOption('topK', topK, `leave it out: model ${name} has no classes under ${loss}`)
}

function addTarget(writer: GraphWriter, { name, loss }: Model, output: ValueId): ValueId {
  const { shape, name: layer } = writer.get(output)
  if (loss === 'meanSquaredError' || loss === 'binaryCrossEntropy') return writer.value('target', shape, { role: 'target' })
  if (loss !== 'softmaxCrossEntropy')
    throw new ArbalestError(
      'INVALID_MODEL',
      `model ${name}: loss: received ${shown(loss)}; use softmaxCrossEntropy, binaryCrossEntropy or meanSquaredError`
    )
  if (shape.length > 3)
    throw new ArbalestError(
      'SHAPE_MISMATCH',
      `layer ${layer}: gives ${shownShape(shape.slice(1))} to the softmax; end in one number a class: put flatten and linear last`,
      { data: { layer, received: shape.slice(1) } }
    )
  return writer.value('target', shape.slice(0, -1), { role: 'target', type: 'integer' })
}

function addLoss(
  writer: GraphWriter,
  model: Model,
  { mode, topK }: Pick<BuildOptions, 'mode' | 'topK'>,
  output: ValueId,
  target: ValueId
): Record<string, ValueId> {
  const loss = writer.value('loss', [1], { type: 'statistic' })
  if (model.loss === 'meanSquaredError') {
    writer.operator('meanSquaredError', 'loss', [output, target], [loss])
    return { loss }
  }
  const correct = writer.value('correct', [1], { type: 'integer' })
  if (model.loss === 'binaryCrossEntropy') {
    writer.operator('binaryCrossEntropy', 'loss', [output, target], [loss, correct])
    return { loss, correct }
  }
  const probabilities = mode === 'train' ? writer.value('probabilities', writer.get(output).shape) : NONE
  const classes = writer.get(output).shape.at(-1)!
  if (topK !== undefined && topK >= classes)
    throw invalidOption('topK', topK, `use less than the ${classes} classes: the right one is always among all`)
  const counted = topK === undefined ? {} : { amongTop: writer.value('amongTop', [1], { type: 'integer' }) }
  // Smoothed targets are for learning: what is measured is plain cross-entropy.
  const smoothing = mode === 'train' ? (model.labelSmoothing ?? 0) : 0
  const attributes = { ...(smoothing > 0 && { smoothing }), ...(topK !== undefined && { top: topK }) }
  writer.operator('softmaxCrossEntropy', 'loss', [output, target], [loss, probabilities, correct, ...Object.values(counted)], attributes)
  return { loss, correct, ...counted }
}

/** Written by the caller: no operator computes a loss that the engine does not know. */
function addCustomLoss(writer: GraphWriter, output: ValueId): Record<string, ValueId> {
  return {
    'output.gradient': writer.value('output.gradient', writer.get(output).shape, { role: 'input' }),
    loss: writer.value('loss', [1], { role: 'input', type: 'statistic' })
  }
}

function loadAttributes({ input }: Model, mode: Mode, load: LoadOptions): Attributes {
  const { padding = 0, flip = false, mean = [], std = [], shuffled = true } = load
  if (!Number.isSafeInteger(padding) || padding < 0 || padding > 2 ** 15)
    throw invalidOption('load.padding', padding, 'use a whole number of at least 0')
  if ((padding > 0 || flip) && input.length !== 3)
    throw invalidOption(
      padding > 0 ? 'load.padding' : 'load.flip',
      padding || flip,
      'leave it out: only images (C, H, W) are cropped and flipped'
    )
  for (const [name, list] of Object.entries({ mean, std }))
    if (![0, 1, input.length === 3 ? input[0] : 1].includes(list.length) || !list.every(Number.isFinite))
      throw invalidOption(`load.${name}`, list, `give one number, or one for each channel of ${shownShape(input)}`)
  if (std.includes(0)) throw invalidOption('load.std', std, 'use numbers other than 0')
  const augmented = mode !== 'evaluate'
  return {
    padding: augmented ? padding : 0,
    flip: augmented && flip ? 1 : 0,
    mean,
    std,
    shuffled: augmented && shuffled ? 1 : 0
  }
}
