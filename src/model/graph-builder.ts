import { invalidOption, unknownName } from '../errors.js'
import { elements, layersOf, namesParameter, NONE, parametersOf, type Graph, type ValueId } from './graph.js'
import { GraphWriter } from './graph-writer.js'
import { LayerOperators } from './layer-operators.js'
import { checkModel, takesTokens, type Model } from './model.js'
import type { Mode } from './operators/layer-writer.js'
import { loading, loadsMixed, type LoadOptions } from './operators/engine-operators.js'
import { addLoss, addTarget, checkClassification } from './operators/losses.js'
import { atOnce, type Pieces } from '../turns.js'

export type { Mode } from './operators/layer-writer.js'
export type { LoadOptions } from './operators/engine-operators.js'

const MODES: readonly Mode[] = ['train', 'statistics', 'evaluate', 'predict']

export interface BuildOptions {
  readonly batch: number
  readonly mode: Mode
  readonly load?: LoadOptions
  /** Where a training step's gradients begin; the model's own loss if left out. */
  readonly loss?: LossChoice
  /** The targets of a classifier are soft: a share of each class (N, K) instead of a class number (N). */
  readonly softTargets?: boolean
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
export function buildGraph(model: Model, options: BuildOptions): Graph {
  return atOnce(buildGraphInPieces(model, options))
}

/** The same, a layer at a time. */
export function* buildGraphInPieces(
  model: Model,
  { batch, mode, load = {}, loss: choice = 'model', softTargets = false, topK, freeze = [] }: BuildOptions
): Pieces<Graph> {
  if (!Number.isSafeInteger(batch) || batch < 1 || batch > 2 ** 31 - 1)
    throw invalidOption('batch', batch, 'use a whole number of at least 1')
  if (!MODES.includes(mode)) throw unknownName('mode', mode, MODES)
  if (choice !== 'model' && choice !== 'custom') throw unknownName('loss', choice, ['model', 'custom'])
  checkModel(model)
  checkClassification(model, topK)
  const writer = new GraphWriter()
  const input = writer.value('input', [batch, ...model.input], { role: 'input', type: takesTokens(model) ? 'integer' : 'float' })
  const layers = new LayerOperators(writer, mode)
  const output = yield* layers.sequenceInPieces(model.layers, input)
  freezeParameters(writer, freeze)
  yield
  layers.checkFrozen()
  if (mode === 'statistics') layers.foldStatistics()
  const target = mode === 'predict' ? NONE : addTarget(writer, model, output, softTargets || loadsMixed(mode, load))
  const isMeasured = mode === 'train' || mode === 'evaluate'
  const loss = !isMeasured
    ? {}
    : choice === 'custom'
      ? addCustomLoss(writer, output)
      : addLoss(writer, model, { output, target }, { training: mode === 'train', topK })
  const { values, operators } = writer.graph(model.name, batch, {})
  const loads = loading([batch, ...model.input], mode, load, [input, target])
  return {
    name: model.name,
    batch,
    values,
    operators: mode === 'predict' ? operators : [loads, ...operators],
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

/** The graph that predicts one sample, from which a model's parameters, statistics and layers can be read. Throws what `buildGraph` throws. */
export function predictionGraph(model: Model, load: LoadOptions = {}): Graph {
  return atOnce(predictionGraphInPieces(model, load))
}

/** The same, a layer at a time. */
export function predictionGraphInPieces(model: Model, load: LoadOptions = {}): Pieces<Graph> {
  return buildGraphInPieces(model, { batch: 1, mode: 'predict', load })
}

/** How many numbers a model trains. */
export function parameterCount(model: Model): number {
  return parametersOf(predictionGraph(model)).reduce((sum, { shape }) => sum + elements(shape), 0)
}

/** Throws UNKNOWN_NAME for a pattern that matches no parameter, INVALID_OPTION if none is left to be trained. */
function freezeParameters(writer: GraphWriter, freeze: readonly string[]): void {
  const parameters = () => parametersOf(writer.graph('', 0, {}))
  for (const pattern of freeze) {
    if (writer.freeze(0, namesParameter(pattern)) === 0) throw unknownName('freeze', pattern, layersOf(parameters()))
  }
  const all = parameters()
  if (all.length > 0 && all.every(({ frozen }) => frozen))
    throw invalidOption('freeze', freeze, 'leave a layer that learns: all are frozen')
}

/** Values that the caller writes: no operator computes a loss that the engine does not know. */
function addCustomLoss(writer: GraphWriter, output: ValueId): Record<string, ValueId> {
  return {
    'output.gradient': writer.value('output.gradient', writer.get(output).shape, { role: 'input' }),
    loss: writer.value('loss', [1], { role: 'input', type: 'statistic' })
  }
}
