import { elements, NONE, type ValueId } from '../graph.js'
import { initialiserOf, type Fans, type WeightInitialiser } from '../initialisers.js'
import { pairOf, shownShape, windowsOf, type Window } from '../layer-checks.js'
import type { Conv2dLayer, LinearLayer } from '../model.js'
import type { LayerWriter } from './layer-writer.js'

/** What layers with a weight and a bias have in common. */
interface Weighted {
  readonly bias?: boolean
  readonly tied?: string
  readonly initialiser?: WeightInitialiser
  readonly biasInitialiser?: WeightInitialiser
}

export function conv2d(layer: Conv2dLayer, to: LayerWriter, x: ValueId): ValueId {
  const [batch, channels, ...extent] = to.image(x, 'put it before flatten and pooling to (C)')
  const filters = to.wholeNumber('filters', layer.filters, 1)
  const groups = to.wholeNumber('groups', layer.groups ?? 1, 1)
  if (filters % groups) throw to.invalid('groups', groups, `use a divisor of its ${filters} filters`)
  if (channels % groups) throw to.mismatch(x, `its ${groups} groups must divide the channels: change groups`)
  const window: Window = {
    kernel: pairOf(to.name, 'kernel', layer.kernel, 1),
    stride: pairOf(to.name, 'stride', layer.stride ?? 1, 1),
    padding: pairOf(to.name, 'padding', layer.padding ?? 0, 0)
  }
  const extents = windowsOf(to.name, [channels, ...extent], window)
  const weights = weightAndBias(layer, to, [filters, channels / groups, ...window.kernel])
  const y = to.value([batch, filters, ...extents])
  to.operator('conv2d', [x, ...weights], [y], { attributes: { stride: window.stride, padding: window.padding, groups, relu: 0 } })
  return y
}

export function linear(layer: LinearLayer, to: LayerWriter, x: ValueId): ValueId {
  const shape = to.rows(x)
  const features = to.wholeNumber('features', layer.features, 1)
  const weights = weightAndBias(layer, to, [features, shape.at(-1)!])
  const y = to.value([...shape.slice(0, -1), features])
  to.operator('linear', [x, ...weights], [y], { attributes: { relu: 0 } })
  return y
}

function weightAndBias(
  { bias = true, tied, initialiser: ofWeight = 'kaimingUniform', biasInitialiser: ofBias }: Weighted,
  to: LayerWriter,
  shape: readonly number[]
): ValueId[] {
  const outputs = shape[0]!
  const fans: Fans = { fanIn: elements(shape.slice(1)), fanOut: outputs * elements(shape.slice(2)) }
  const weight =
    tied === undefined ? to.parameter('weight', shape, initialiserOf(to.name, 'initialiser', ofWeight, fans)) : weightOf(tied, to, shape)
  if (!to.truth('bias', bias)) return [weight, NONE]
  // A bias has no fan of its own: PyTorch draws it as if it were a weight, and any other choice must do without.
  const chosen =
    ofBias === undefined ? initialiserOf(to.name, 'bias', 'kaimingUniform', fans) : initialiserOf(to.name, 'biasInitialiser', ofBias, null)
  return [weight, to.parameter('bias', [outputs], chosen)]
}

/** The weight of the layer that `tied` names. */
function weightOf(tied: string, to: LayerWriter, shape: readonly number[]): ValueId {
  const weight = to.find(`${tied}.weight`)
  if (weight?.role !== 'parameter') throw to.invalid('tied', tied, 'name an earlier layer that has a weight')
  if (weight.shape.length === shape.length && weight.shape.every((extent, axis) => extent === shape[axis])) return weight.id
  throw to.invalid('tied', tied, `its weight is ${shownShape(weight.shape)} where ${shownShape(shape)} is needed`)
}
