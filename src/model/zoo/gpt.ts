import { ArbalestError, invalidOption } from '../../errors.js'
import { shownShape } from '../layer-checks.js'
import { causalSelfAttention, defineModel, dropout, embedding, gelu, layerNorm, linear, positions, residual } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { COMMON, defineFamily, type ZooShape } from './family.js'

/** The size of a GPT. The vocabulary and the context are those of the data. */
export interface GptOptions {
  /** Blocks of attention and feed-forward network. */
  readonly layers?: number
  readonly heads?: number
  /** Features of a position; the heads share them evenly. */
  readonly width?: number
  /** Rate after the embedding and at the end of each branch. */
  readonly dropout?: number
}

/** More than any machine trains. */
const MOST_LAYERS = 1000

/** Every option checked, with defaults. Throws INVALID_OPTION with `prefix` before the option's name. */
function gptSize({ layers = 4, heads = 4, width = 128, dropout: rate = 0 }: GptOptions, prefix = ''): Required<GptOptions> {
  if (!Number.isSafeInteger(layers) || layers < 1 || layers > MOST_LAYERS)
    throw invalidOption(`${prefix}layers`, layers, `use a whole number from 1 to ${MOST_LAYERS}`)
  if (!Number.isSafeInteger(heads) || heads < 1) throw invalidOption(`${prefix}heads`, heads, 'use a whole number of at least 1')
  if (!Number.isSafeInteger(width) || width < 1 || width % heads)
    throw invalidOption(`${prefix}width`, width, `use a multiple of the ${heads} heads`)
  if (!(rate >= 0 && rate < 1)) throw invalidOption(`${prefix}dropout`, rate, 'use a number from 0 to below 1')
  return { layers, heads, width, dropout: rate }
}

/** Of the weights at first, as in GPT-2; biases are zero. */
const DEVIATION = 0.02

/**
 * A GPT over tokens (T), each position's output the logits of the next token: GPT-2's form (Radford et al., 2019) with norms before each
 * branch and a last one before the head, which has the embedding's weights. 4 layers of 4 heads, 128 wide, without dropout if left out.
 */
export function gpt({ input, classes }: ZooShape, options: GptOptions = {}): Model {
  const { layers, heads, width, dropout: rate } = gptSize(options)
  if (input.length !== 1)
    throw new ArbalestError('SHAPE_MISMATCH', `model gpt: received samples ${shownShape(input)}; it takes tokens (T): give it a text`)
  // All branches together then add as much to the sum as one would.
  const last = DEVIATION / Math.sqrt(2 * layers)
  return defineModel({
    name: 'gpt',
    input,
    layers: [
      embedding(classes, width, { name: 'tokens', initialiser: from(DEVIATION).initialiser }),
      positions({ name: 'positions' }),
      dropout(rate),
      ...Array.from({ length: layers }, (_, i) => [
        branch(`block${i}.attention`, [
          linear(3 * width, { name: 'qkv', ...from(DEVIATION) }),
          causalSelfAttention(heads, { name: 'heads' }),
          linear(width, { name: 'projection', ...from(last) }),
          dropout(rate)
        ]),
        branch(`block${i}.feedForward`, [
          linear(4 * width, { name: 'expand', ...from(DEVIATION) }),
          gelu({ approximate: 'tanh' }),
          linear(width, { name: 'projection', ...from(last) }),
          dropout(rate)
        ])
      ]).flat(),
      layerNorm({ name: 'norm' }),
      linear(classes, { name: 'head', tied: 'tokens', bias: false })
    ]
  })
}

/** x + body(norm(x)) */
function branch(name: string, body: readonly Layer[]): Layer {
  return residual({ name, relu: false, body: [layerNorm({ name: 'norm' }), ...body] })
}

function from(std: number) {
  return { initialiser: { kind: 'normal', std }, biasInitialiser: { kind: 'constant', value: 0 } } as const
}

defineFamily({
  models: { gpt },
  usual: { input: [128], classes: 65 },
  defaults: { ...COMMON, batch: 16, learningRate: 0.1, weightDecay: 0, epochs: 20, milestones: [0.8] },
  checkSize: gptSize
})
