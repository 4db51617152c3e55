import * as fc from 'fast-check'
import {
  classToken,
  conv2d,
  defineModel,
  imagePositions,
  layerNorm,
  linear,
  meanPositions,
  relu,
  residual,
  selfAttention,
  takePosition
} from '../../../src/model/layers.js'
import type { Layer } from '../../../src/model/layer.js'
import type { Model } from '../../../src/model/model.js'

/**
 * Small vision transformers: patches of pixels or features, with a class token before them or without one, and one class of all. They are
 * apart from the other models over sequences, which so stay the same draws of the same seed.
 */
export function randomTokenModel(): fc.Arbitrary<Model> {
  const recipe = fc.record({
    length: fc.integer({ min: 1, max: 4 }),
    heads: fc.integer({ min: 1, max: 2 }),
    width: fc.integer({ min: 1, max: 3 }),
    ofPixels: fc.boolean(),
    hasToken: fc.boolean(),
    isPooled: fc.boolean(),
    picks: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 0, maxLength: 3 })
  })
  return recipe.map(({ length, heads, width, ofPixels, hasToken, isPooled, picks }) => {
    const features = heads * width
    const start = ofPixels ? [conv2d(features, [1, 2]), imagePositions()] : [linear(features)]
    const body = picks.map((kind): Layer[] => {
      if (kind === 0) return [layerNorm({ epsilon: 0.1 })]
      if (kind === 1) return [linear(features), relu()]
      return [residual({ body: [linear(3 * features), selfAttention(heads), linear(features)], relu: false })]
    })
    const end = isPooled ? meanPositions() : takePosition(length - 1)
    const layers = [...start, ...(hasToken ? [classToken()] : []), ...body.flat(), end, linear(3)]
    return defineModel({ name: 'random', input: ofPixels ? [2, length, 2] : [length, 2], layers })
  })
}
