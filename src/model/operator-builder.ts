import { addOperator } from './further-outputs.js'
import { NONE, type Attributes, type Initialiser, type OperatorKind, type ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'
import { invalidLayer } from './layer-checks.js'

/**
 * What operators of one's own are composed of: all that have one result, which depends on their inputs alone. A batch norm folds statistics and a
 * dropout has another meaning in prediction: they are layers, beside the operator.
 */
export type ComposableKind = Exclude<
  OperatorKind,
  | 'load'
  | 'layerNormBackward'
  | 'causalSelfAttentionBackward'
  | 'batchNorm'
  | 'batchNormInference'
  | 'batchNormBackward'
  | 'foldStatistics'
  | 'maxPool2dBackward'
  | 'concatBackward'
  | 'dropout'
  | 'dropoutBackward'
  | 'softmaxCrossEntropy'
  | 'softmaxCrossEntropyBackward'
  | 'binaryCrossEntropy'
  | 'binaryCrossEntropyBackward'
  | 'meanSquaredError'
  | 'meanSquaredErrorBackward'
  | 'reorder'
  | 'exchange'
  | 'update'
>

const COMPOSABLE: Readonly<Record<ComposableKind, true>> = {
  conv2d: true,
  conv2dBackwardData: true,
  conv2dBackwardWeights: true,
  linear: true,
  linearBackwardData: true,
  linearBackwardWeights: true,
  matmul: true,
  layerNorm: true,
  embedding: true,
  embeddingBackward: true,
  positions: true,
  positionsBackward: true,
  causalSelfAttention: true,
  relu: true,
  reluBackward: true,
  sigmoid: true,
  sigmoidBackward: true,
  tanh: true,
  tanhBackward: true,
  leakyRelu: true,
  leakyReluBackward: true,
  gelu: true,
  geluBackward: true,
  silu: true,
  siluBackward: true,
  localResponseNorm: true,
  localResponseNormBackward: true,
  maxPool2d: true,
  avgPool2d: true,
  avgPool2dBackward: true,
  globalAvgPool: true,
  globalAvgPoolBackward: true,
  subsamplePad: true,
  subsamplePadBackward: true,
  add: true,
  multiply: true,
  concat: true,
  reshape: true
}

const FORWARD = Object.keys(COMPOSABLE).filter((kind) => !kind.includes('Backward'))

/** What an operator of one's own is built from: the engine's operators, with names that begin with the layer's. */
export interface OperatorBuilder {
  /** A value's shape, batch first. */
  shape(value: ValueId): readonly number[]
  /** A trained parameter, `<layer>.<name>`. */
  parameter(name: string, shape: readonly number[], initialiser: Initialiser): ValueId
  /**
   * Adds an operator whose result has this shape, batch first; the inputs are those of the table of operators, -1 for one that is left out. What its
   * gradient needs beside the result is kept for it.
   */
  add(kind: ComposableKind, inputs: readonly ValueId[], shape: readonly number[], attributes?: Attributes): ValueId
}

/** A builder for the operator of a layer; every value gets a name of its own. It throws INVALID_MODEL for what is no value or operator. */
export function operatorBuilder(
  writer: GraphWriter,
  { layer, prefix = layer, differentiated }: { readonly layer: string; readonly prefix?: string; readonly differentiated: boolean }
): OperatorBuilder {
  return {
    shape: (value) => writer.get(valueOf(writer, layer, 'a value', value)).shape,
    parameter: (suffix, shape, initialiser) =>
      writer.value(`${prefix}.${suffix}`, extentsOf(layer, suffix, shape), { role: 'parameter', initialiser }),
    add(kind, inputs, shape, attributes = {}) {
      if (!Object.hasOwn(COMPOSABLE, kind)) throw invalidLayer(layer, 'operator', kind, `a composed one is made of ${FORWARD.join(', ')}`)
      if (!Array.isArray(inputs) || inputs.length === 0) throw invalidLayer(layer, kind, inputs, 'give it a list of inputs')
      const given = inputs.map((input: ValueId, i) =>
        input === NONE && i > 0 ? NONE : valueOf(writer, layer, `input ${i} of ${kind}`, input)
      )
      const name = writer.freeName(`${prefix}.${kind}`)
      return addOperator(writer, { kind, name, inputs: given, shape: extentsOf(layer, kind, shape), attributes }, differentiated)
    }
  }
}

/** A value that there is. */
export function valueOf(writer: GraphWriter, layer: string, what: string, value: unknown): ValueId {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < writer.size) return value as ValueId
  throw invalidLayer(layer, what, value, 'use what the builder has returned, or the input that it was given')
}

/** A shape of whole numbers. */
export function extentsOf(layer: string, what: string, shape: unknown): readonly number[] {
  if (Array.isArray(shape) && shape.every((extent) => Number.isSafeInteger(extent) && extent > 0)) return shape as readonly number[]
  throw invalidLayer(layer, `shape of ${what}`, shape, 'use a list of whole numbers of at least 1')
}
