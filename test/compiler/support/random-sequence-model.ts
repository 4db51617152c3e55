import * as fc from 'fast-check'
import { loadOperators } from '../../../src/model/composed.js'
import {
  causalSelfAttention,
  classToken,
  composed,
  conv2d,
  defineModel,
  dropout,
  embedding,
  imagePositions,
  layerNorm,
  linear,
  meanPositions,
  positions,
  relu,
  residual,
  selfAttention,
  takePosition
} from '../../../src/model/layers.js'
import type { Layer } from '../../../src/model/layer.js'
import type { Model } from '../../../src/model/model.js'

/** Small valid models over sequences, of tokens, of features or of pixels, with one class a position, or one of all; every one has a parameter. */
export function randomSequenceModel({ dropout: drops = true }: { dropout?: boolean } = {}): fc.Arbitrary<Model> {
  const recipe = fc.record({
    length: fc.integer({ min: 1, max: 4 }),
    heads: fc.integer({ min: 1, max: 2 }),
    width: fc.integer({ min: 1, max: 3 }),
    tokens: fc.option(fc.integer({ min: 2, max: 5 }), { nil: undefined }),
    ofPixels: fc.boolean(),
    ending: fc.constantFrom('mean', 'position', 'all'),
    picks: fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 0, maxLength: 4 })
  })
  return recipe.map(({ length, heads, width, tokens, picks, ofPixels, ending }) => {
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
    if (tokens !== undefined) {
      const layers = [embedding(tokens, features, { name: 'tokens' }), ...body, linear(tokens, { tied: 'tokens' })]
      return defineModel({ name: 'random', input: [length], layers })
    }
    // With a class for every position, a token would be one more than there are targets.
    const token = ending === 'all' ? [] : [classToken()]
    const start = ofPixels ? [conv2d(features, [1, 2]), imagePositions(), ...token] : [linear(features)]
    const end = ending === 'mean' ? [meanPositions()] : ending === 'position' ? [takePosition(length - 1)] : []
    return defineModel({ name: 'random', input: ofPixels ? [2, length, 2] : [length, 2], layers: [...start, ...body, ...end, linear(3)] })
  })
}

const products = composed(new URL('../../fakes/operators/products.js', import.meta.url))
await loadOperators(defineModel({ name: 'products', input: [2, 2], layers: [products] }))
