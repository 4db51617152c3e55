import * as fc from 'fast-check'
import { loadOperators } from '../../../src/model/composed.js'
import {
  causalSelfAttention,
  composed,
  defineModel,
  dropout,
  embedding,
  layerNorm,
  linear,
  meanPositions,
  positions,
  relu,
  residual,
  selfAttention
} from '../../../src/model/layers.js'
import type { Layer } from '../../../src/model/layer.js'
import type { Model } from '../../../src/model/model.js'

/** Small valid models over sequences, of tokens or of features, with one class a position, or one of all; every one has a parameter. */
export function randomSequenceModel({ dropout: drops = true }: { dropout?: boolean } = {}): fc.Arbitrary<Model> {
  const recipe = fc.record({
    length: fc.integer({ min: 1, max: 4 }),
    heads: fc.integer({ min: 1, max: 2 }),
    width: fc.integer({ min: 1, max: 3 }),
    tokens: fc.option(fc.integer({ min: 2, max: 5 }), { nil: undefined }),
    isPooled: fc.boolean(),
    picks: fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 0, maxLength: 4 })
  })
  return recipe.map(({ length, heads, width, tokens, picks, isPooled }) => {
    const features = heads * width
    const body = picks.flatMap((kind): Layer[] => {
      if (kind === 0) return [positions()]
      if (kind === 1) return [layerNorm({ epsilon: 0.01 })]
      if (kind === 2) return [linear(3 * features), causalSelfAttention(heads)]
      if (kind === 3) return [linear(features), relu()]
      if (kind === 6) return [linear(3 * features), selfAttention(heads), positions()]
      if (kind === 4) return drops ? [dropout(0.3)] : []
      if (kind === 5) return [layerNorm({ epsilon: 0.1 }), products, layerNorm({ epsilon: 0.1 })]
      return [
        residual({ body: [layerNorm({ epsilon: 0.1 }), linear(3 * features), causalSelfAttention(heads), linear(features)], relu: false })
      ]
    })
    const start = tokens === undefined ? linear(features) : embedding(tokens, features, { name: 'tokens' })
    const end = tokens === undefined ? (isPooled ? [meanPositions(), linear(3)] : [linear(3)]) : [linear(tokens, { tied: 'tokens' })]
    return defineModel({ name: 'random', input: tokens === undefined ? [length, 2] : [length], layers: [start, ...body, ...end] })
  })
}

const products = composed(new URL('../../fakes/operators/products.js', import.meta.url))
await loadOperators(defineModel({ name: 'products', input: [2, 2], layers: [products] }))
