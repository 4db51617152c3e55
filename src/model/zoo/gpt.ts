import { ArbalestError } from '../../errors.js'
import { Faults } from '../../schema/faults.js'
import { group, option, type GivenOptions } from '../../schema/group.js'
import { real, whole } from '../../schema/values.js'
import { shownShape } from '../layer-checks.js'
import { causalSelfAttention, defineModel, dropout, embedding, gelu, layerNorm, linear, positions, residual } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { COMMON, defineFamily, type ZooShape } from './family.js'

const about = <const Text extends object>(text: Text) =>
  ({ ...text, of: ['gpt', 'text-classifier', 'vit-tiny', 'vit-small', 'vit-base'] }) as const

/** The options of a transformer's size, as `size` of a run has them. */
export const gptOptions = group({
  /** Blocks of attention and feed-forward network; 4 if omitted, 2 for `text-classifier`, 12 for vision transformers. */
  layers: option(
    // More than any machine trains.
    whole({ min: 1, max: 1000 }),
    about({
      text: 'blocks of attention and feed-forward network',
      flag: '--layers <count>',
      otherwise: '4; 2 for text-classifier, 12 for vit'
    })
  ),
  /** Heads of each attention; 4 if omitted, 3, 6 or 12 for `vit-tiny`, `vit-small` and `vit-base`. */
  heads: option(whole({ min: 1 }), about({ text: 'heads of each attention', flag: '--heads <count>', otherwise: '4; 3, 6 or 12 for vit' })),
  /** Features of a position, which the heads share evenly; 128 if omitted, 64 for `text-classifier`, 192, 384 or 768 for vision transformers. */
  width: option(
    whole({ min: 1 }),
    about({
      text: 'features of a position, a multiple of the heads',
      flag: '--width <features>',
      otherwise: '128; 64 for text-classifier; 192, 384 or 768 for vit'
    })
  ),
  /** The fraction of the features that dropout zeroes, after the embedding and at the end of each branch; 0 if omitted. */
  dropout: option(
    real({ min: 0, below: 1 }),
    about({ text: 'fraction of the features that dropout zeroes', flag: '--dropout <fraction>', otherwise: '0' })
  )
})

/** The size of a GPT, or of a text classifier. The vocabulary and the context are those of the data. */
export interface GptOptions extends GivenOptions<typeof gptOptions> {}

/** Checked, and with defaults. Throws INVALID_OPTION with every fault; `path` is that of the size. */
export function transformerSize(given: GptOptions, path: string, usual: Required<GptOptions>): Required<GptOptions> {
  const faults = new Faults()
  const size = { ...usual, ...faults.checked(gptOptions, given, { path }) }
  const { heads, width } = size
  if (faults.none && width % heads !== 0)
    faults.refuse(path === '' ? 'width' : `${path}.width`, width, `use a multiple of the ${heads} heads`)
  faults.throwAny()
  return size
}

const USUAL = { layers: 4, heads: 4, width: 128, dropout: 0 }

/** Of the weights at first, as in GPT-2; biases are zero. */
const DEVIATION = 0.02

/**
 * A GPT over tokens (T), each position's output the logits of the next token: GPT-2's form (Radford et al., 2019) with norms before each
 * branch and a last one before the head, which has the embedding's weights. 4 layers of 4 heads, 128 wide, without dropout if left out.
 */
export function gpt({ input, classes }: ZooShape, options: GptOptions = {}): Model {
  const { layers, heads, width, dropout: rate } = transformerSize(options, '', USUAL)
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
  checkSize: (size, path) => void transformerSize(size, path, USUAL)
})
