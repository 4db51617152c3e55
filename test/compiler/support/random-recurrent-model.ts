import * as fc from 'fast-check'
import {
  concat,
  defineModel,
  embedding,
  gru,
  layerNorm,
  linear,
  lstm,
  meanPositions,
  residual,
  takePosition
} from '../../../src/model/layers.js'
import type { Layer } from '../../../src/model/layer.js'
import type { Model } from '../../../src/model/model.js'

/** Small models with recurrent layers, of features or of padded tokens, in both directions, one after another, side by side and within blocks. */
export function randomRecurrentModel(): fc.Arbitrary<Model> {
  const layer = fc.record({
    makes: fc.constantFrom(lstm, gru),
    width: fc.integer({ min: 1, max: 3 }),
    reverse: fc.boolean(),
    bias: fc.boolean(),
    place: fc.constantFrom('alone', 'beside', 'block', 'many')
  })
  const recipe = fc.record({
    length: fc.integer({ min: 1, max: 4 }),
    tokens: fc.option(fc.integer({ min: 3, max: 5 }), { nil: undefined }),
    last: fc.boolean(),
    picks: fc.array(layer, { minLength: 1, maxLength: 3 })
  })
  return recipe.map(({ length, tokens, last, picks }) => {
    const padded = tokens === undefined ? {} : { padding: 0 }
    const body = picks.flatMap(({ makes, width, reverse, bias, place }): Layer[] => {
      const one = makes(width, { reverse, bias, ...padded })
      if (place === 'alone') return [one]
      if (place === 'many') return [makes(width, { bidirectional: reverse, layers: reverse ? 1 : 2, bias, ...padded })]
      if (place === 'beside') return [concat([[one], [gru(2, { ...padded, reverse: !reverse })]])]
      return [linear(width), residual({ body: [layerNorm({ epsilon: 0.1 }), one], relu: false })]
    })
    const start = tokens === undefined ? [] : [embedding(tokens, 2)]
    const end = last ? takePosition(-1, padded) : meanPositions(padded)
    return defineModel({
      name: 'random',
      input: tokens === undefined ? [length, 2] : [length],
      layers: [...start, ...body, end, linear(3)]
    })
  })
}
