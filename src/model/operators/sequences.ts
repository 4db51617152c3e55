import type { ValueId } from '../graph.js'
import { initialiserOf, type WeightInitialiser } from '../initialisers.js'
import type { CausalSelfAttentionLayer, EmbeddingLayer } from '../model.js'
import type { LayerWriter } from './layer-writer.js'

export function embedding(layer: EmbeddingLayer, to: LayerWriter, x: ValueId): ValueId {
  const { shape, type } = to.get(x)
  if (type !== 'integer' || shape.length !== 2) throw to.mismatch(x, 'it takes token ids (T): make it the first layer')
  const tokens = to.wholeNumber('tokens', layer.tokens, 1)
  const features = to.wholeNumber('features', layer.features, 1)
  const initialiser = initialiserOf(to.name, 'initialiser', layer.initialiser ?? { kind: 'normal', std: 1 }, null)
  const table = to.parameter('weight', [tokens, features], initialiser)
  return to.simple('embedding', x, [...shape, features], {}, [table])
}

export function positions(
  { initialiser = { kind: 'normal', std: 0.02 } }: { readonly initialiser?: WeightInitialiser },
  to: LayerWriter,
  x: ValueId
): ValueId {
  const shape = to.shape(x)
  const table = to.parameter('weight', shape.slice(1), initialiserOf(to.name, 'initialiser', initialiser, null))
  return to.simple('positions', x, shape, {}, [table])
}

export function causalSelfAttention(layer: CausalSelfAttentionLayer, to: LayerWriter, x: ValueId): ValueId {
  const shape = to.shape(x)
  const heads = to.wholeNumber('heads', layer.heads, 1)
  if (shape.length !== 3 || shape[2]! % 3) throw to.mismatch(x, 'it takes (T, 3F): put linear(3 * F) before it')
  const [batch, length, features] = [shape[0]!, shape[1]!, shape[2]! / 3]
  if (features % heads) throw to.invalid('heads', heads, `use a divisor of its ${features} features`)
  return to.simple('causalSelfAttention', x, [batch, length, features], { heads })
}
