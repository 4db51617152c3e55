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
    case 'meanSquaredError':
      return 3 * size(inputs[0])
    case 'meanSquaredErrorBackward':
      return 2 * size(inputs[0])
    case 'add':
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
    case 'reshape':
    case 'reorder':
    case 'exchange':
    case 'update':
      return 0
  }
}
