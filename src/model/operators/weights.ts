import { elements, NONE, type Attributes, type OperatorKind, type ValueId } from '../graph.js'
import { initialiserOf, type Fans, type Initialised } from '../initialisers.js'
import { shownShape } from '../layer-checks.js'
import type { LayerWriter } from './layer-writer.js'
import { sizeOf, type Backpropagation, type OperatorRun, type Shape } from './table.js'

/** A layer with a weight and perhaps a bias. */
interface Weighted extends Initialised {
  readonly bias?: boolean
  /** The layer, by its full name, whose weight this one uses as its own. */
  readonly tied?: string
}

/** The values of a layer's weight, of this shape, and of its bias, with a number for each output; NONE for a bias that it has not. */
export function weightAndBias(
  { bias = true, tied, initialiser: ofWeight, biasInitialiser: ofBias }: Weighted,
  to: LayerWriter,
  shape: readonly number[],
  outputs = shape[0]!
): readonly [weight: ValueId, bias: ValueId] {
  const fans: Fans = { fanIn: elements(shape.slice(1)), fanOut: shape[0]! * elements(shape.slice(2)) }
  if (tied !== undefined && ofWeight !== undefined)
    throw to.invalid('initialiser', ofWeight, `leave it out: the weight is that of ${tied}, which gives it its first values`)
  const weight =
    tied === undefined
      ? to.parameter('weight', shape, initialiserOf(to.name, 'initialiser', ofWeight === undefined ? 'kaimingUniform' : ofWeight, fans))
      : weightOf(tied, to, shape)
  if (!to.truth('bias', bias)) return [weight, NONE]
  // A bias has no fan of its own: PyTorch draws it as if it were a weight, and another choice must not need a fan.
  const chosen =
    ofBias === undefined ? initialiserOf(to.name, 'bias', 'kaimingUniform', fans) : initialiserOf(to.name, 'biasInitialiser', ofBias, null)
  return [weight, to.parameter('bias', [outputs], chosen)]
}

/** The weight of the layer that `tied` names. */
function weightOf(tied: string, to: LayerWriter, shape: readonly number[]): ValueId {
  const weight = to.find(`${tied}.weight`)
  if (weight?.role !== 'parameter') throw to.invalid('tied', tied, 'name an earlier layer that has a weight')
  if (weight.shape.length === shape.length && weight.shape.every((extent, axis) => extent === shape[axis])) return weight.id
  throw to.invalid('tied', tied, `its weight is ${shownShape(weight.shape)} and must be ${shownShape(shape)}`)
}

/** y = x * w + b, convolution or product, with an optional max(0, .). Weights first: the memory of x is free after that. */
export function affineGradient<A extends Attributes>(weights: OperatorKind, data: OperatorKind): (pass: Backpropagation<A>) => void {
  return (pass) => {
    const [x, w] = pass.inputs as [ValueId, ValueId]
    const attributes = { ...pass.attributes, relu: 0 }
    const gradient = pass.maskedGradient()
    if (pass.wants(1) || pass.wants(2)) pass.emit(weights, [x, gradient], [pass.contribution(1), pass.optionalContribution(2)], attributes)
    if (pass.wants(0)) pass.emit(data, [gradient, w], [pass.contribution(0)], attributes)
  }
}

/** Of an operator with a weight (O, ...), forwards and backwards; a bias costs an addition for every output. */
export const affineFlops = {
  forward: ({ inputs: [, w, b], outputs: [y] }: OperatorRun<unknown>): number => innerProducts(y, w) + (b ? sizeOf(y) : 0),
  backwardData: ({ inputs: [gy, w] }: OperatorRun<unknown>): number => innerProducts(gy, w),
  backwardWeights: ({ inputs: [, gy], outputs: [gw, gb] }: OperatorRun<unknown>): number => innerProducts(gy, gw) + (gb ? sizeOf(gy) : 0)
}

/** Each element of the output, or of its gradient, meets one filter: an inner product of the filter's length. */
function innerProducts(y: Shape | undefined, w: Shape | undefined): number {
  return 2 * sizeOf(y) * elements(w!.slice(1))
}
