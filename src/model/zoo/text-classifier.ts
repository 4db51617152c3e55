import { ArbalestError } from '../../errors.js'
import { dropout, defineModel, embedding, gelu, layerNorm, linear, meanPositions, positions, residual, selfAttention } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { checkedShape, COMMON, type ZooFamily, type ZooShape } from './family.js'
import { transformerSize, type GptOptions } from './gpt.js'

/** The values of a byte. */
const BYTES = 256
/** The token behind the end of a text. */
const END = 0

const USUAL = { layers: 2, heads: 4, width: 64, dropout: 0 }

/** Of the embedding and the positions at first. */
const DEVIATION = 0.02

/**
 * An encoder of texts by tokens (T), 0 behind the end of a shorter text: blocks of attention in which each token sees all others of its text (Vaswani et al., 2017) with norms before
 * each branch, the mean of its positions, and a linear layer to the classes. 2 layers of 4 heads, 64 wide, without dropout if left out; `tokens` are the values of a byte if left out.
 */
export function textClassifier(shape: ZooShape, options: GptOptions = {}): Model {
  const { input, classes, tokens = BYTES } = checkedShape(shape)
  const { layers, heads, width, dropout: rate } = transformerSize(options, '', USUAL)
  if (input.length !== 1)
    throw new ArbalestError(
      'SHAPE_MISMATCH',
      `model text-classifier: received samples (${input.join(', ')}); it takes tokens (T): give it texts`
    )
  return defineModel({
    name: 'text-classifier',
    input,
    layers: [
      embedding(tokens, width, { name: 'bytes', initialiser: { kind: 'normal', std: DEVIATION } }),
      positions({ name: 'positions', initialiser: { kind: 'normal', std: DEVIATION } }),
      dropout(rate),
      ...Array.from({ length: layers }, (_, i) => [
        branch(`block${i}.attention`, [
          linear(3 * width, { name: 'qkv' }),
          selfAttention(heads, { name: 'heads', padding: END }),
          linear(width, { name: 'projection' }),
          dropout(rate)
        ]),
        branch(`block${i}.feedForward`, [
          linear(4 * width, { name: 'expand' }),
          gelu({ approximate: 'tanh' }),
          linear(width, { name: 'projection' }),
          dropout(rate)
        ])
      ]).flat(),
      meanPositions({ name: 'mean', padding: END }),
      layerNorm({ name: 'norm' }),
      linear(classes, { name: 'head' })
    ]
  })
}

/** x + body(norm(x)) */
function branch(name: string, body: readonly Layer[]): Layer {
  return residual({ name, relu: false, body: [layerNorm({ name: 'norm' }), ...body] })
}

export const textClassifierFamily: ZooFamily = {
  models: { 'text-classifier': textClassifier },
  usual: { input: [256], classes: 2 },
  defaults: { ...COMMON, batch: 16, learningRate: 0.05, weightDecay: 1e-4, epochs: 10, milestones: [0.8] },
  checkSize: (size, path) => void transformerSize(size, path, USUAL)
}
