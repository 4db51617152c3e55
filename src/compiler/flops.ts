import { elements, NONE, type Operator, type Value, type ValueId } from '../model/graph.js'

/**
 * Floating-point operations of one run, additions and multiplications counted apart, for profiles. Products are counted in full,
 * padding included; point-wise operators by the arithmetic of one element.
 */
export function flops({ kind, inputs, outputs, attributes }: Operator, values: readonly Value[]): number {
  const shape = (id: ValueId | undefined): readonly number[] => (id === undefined || id === NONE ? [0] : values[id]!.shape)
  const size = (id: ValueId | undefined): number => elements(shape(id))
  // Every element of the output (of the incoming gradient, backwards) meets one filter: an inner product of its length.
  const product = (output: ValueId | undefined, weights: ValueId | undefined): number =>
    2 * size(output) * elements(shape(weights).slice(1))
  const window = (): number => elements(attributes.kernel as readonly number[])
  switch (kind) {
    case 'conv2d':
    case 'linear':
      return product(outputs[0], inputs[1]) + size(inputs[2]) * (size(outputs[0]) / shape(inputs[1])[0]!)
    case 'conv2dBackwardData':
    case 'linearBackwardData':
      return product(inputs[0], inputs[1])
    case 'conv2dBackwardWeights':
    case 'linearBackwardWeights':
      return product(inputs[1], outputs[0]) + (outputs[1] === NONE ? 0 : size(inputs[1]))
    case 'matmul': {
      const inner = shape(inputs[0]).at(attributes.transposeA ? -2 : -1)!
      return 2 * inner * size(outputs[0])
    }
    case 'layerNorm':
      return 7 * size(inputs[0])
    case 'layerNormBackward':
      return 9 * size(inputs[0])
    case 'embedding':
      return 0
    case 'embeddingBackward':
      return size(inputs[1])
    case 'positions':
    case 'positionsBackward':
      return size(inputs[0])
    case 'causalSelfAttention':
      return attentionFlops(shape(outputs[0]), attributes.heads as number, 2)
    case 'causalSelfAttentionBackward':
      return attentionFlops(shape(inputs[1]), attributes.heads as number, 5)
    case 'batchNorm':
      return 7 * size(inputs[0]) + size(inputs[3])
    case 'batchNormInference':
      return 2 * size(inputs[0]) + size(inputs[5])
    case 'batchNormBackward':
      return 9 * size(inputs[0]) + size(inputs[6])
    case 'maxPool2d':
      return window() * size(outputs[0])
    case 'avgPool2d':
      return (window() + 1) * size(outputs[0])
    case 'avgPool2dBackward':
      return (window() + 1) * size(inputs[0])
    case 'foldStatistics':
      return 6 * size(inputs[0])
    case 'softmaxCrossEntropy':
      return 5 * size(inputs[0])
    case 'softmaxCrossEntropyBackward':
      return 2 * size(inputs[0])
    case 'binaryCrossEntropy':
      return 6 * size(inputs[0])
    case 'sigmoid':
    case 'tanh':
    case 'silu':
    case 'binaryCrossEntropyBackward':
    case 'sigmoidBackward':
    case 'tanhBackward':
      return 4 * size(inputs[0])
    case 'gelu':
    case 'siluBackward':
      return 8 * size(inputs[0])
    case 'geluBackward':
      return 12 * size(inputs[0])
    case 'localResponseNorm':
      return (2 * (attributes.size as number) + 4) * size(inputs[0])
    case 'localResponseNormBackward':
      return (4 * (attributes.size as number) + 8) * size(inputs[0])
    case 'meanSquaredError':
      return 3 * size(inputs[0])
    case 'meanSquaredErrorBackward':
      return 2 * size(inputs[0])
    case 'add':
    case 'multiply':
    case 'leakyRelu':
    case 'leakyReluBackward':
    case 'relu':
    case 'reluBackward':
    case 'dropout':
    case 'dropoutBackward':
    case 'globalAvgPool':
    case 'maxPool2dBackward':
      return size(inputs[0])
    case 'globalAvgPoolBackward':
      return size(outputs[0])
    case 'load':
      return 2 * size(outputs[0])
    case 'subsamplePad':
    case 'subsamplePadBackward':
    case 'concat':
    case 'concatBackward':
    case 'reshape':
    case 'reorder':
    case 'exchange':
    case 'update':
      return 0
  }
}

/** So many products over the pairs of positions that see each other, and five operations a pair for the softmax. */
function attentionFlops([batch, length, features]: readonly number[], heads: number, products: number): number {
  const pairs = (batch! * length! * (length! + 1)) / 2
  return pairs * (2 * products * features! + 5 * heads)
}
