import { ArbalestError } from '../../errors.js'
import { Faults } from '../../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { real, whole } from '../../schema/values.js'
import { shownShape } from '../layer-checks.js'
import {
  causalSelfAttention,
  defineModel,
  dropout,
  embedding,
  gelu,
  layerNorm,
  linear,
  positions,
  relu,
  residual,
  silu
} from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { checkedShape, COMMON, type ZooFamily, type ZooShape } from './family.js'

const TRANSFORMERS = ['gpt', 'text-classifier', 'vit-tiny', 'vit-small', 'vit-base'] as const
const about = <const Text extends object>(text: Text) => ({ ...text, of: ['gpt', 'lstm', 'gru', ...TRANSFORMERS.slice(1)] }) as const

/** The options of a model's size, as `size` of a run has them. */
export const gptOptions = group({
  /** Blocks of attention and feed-forward network, or recurrent layers; 4 if omitted, 2 for `text-classifier`, `lstm` and `gru`, 12 for vision transformers. */
  layers: option(
    // More than any machine trains.
    whole({ min: 1, max: 1000 }),
    about({
      text: 'blocks of attention and feed-forward network, or recurrent layers',
      flag: '--layers <count>',
      otherwise: '4; 2 for text-classifier, lstm and gru; 12 for vit'
    })
  ),
  /** Heads of each attention; 4 if omitted, 3, 6 or 12 for `vit-tiny`, `vit-small` and `vit-base`. */
  heads: option(whole({ min: 1 }), {
    text: 'heads of each attention',
    flag: '--heads <count>',
    otherwise: '4; 3, 6 or 12 for vit',
    of: TRANSFORMERS
  }),
  /** Features of a position, which the heads share evenly; 128 if omitted, 64 for `text-classifier`, 256 for `lstm` and `gru`, 192, 384 or 768 for vision transformers. */
  width: option(
    whole({ min: 1 }),
    about({
      text: 'features of a position, a multiple of the heads',
      flag: '--width <features>',
      otherwise: '128; 64 for text-classifier; 256 for lstm and gru; 192, 384 or 768 for vit'
    })
  ),
  /** The fraction of the features that dropout zeroes, after the embedding and at the end of each branch or recurrent layer; 0 if omitted. */
  dropout: option(
    real({ min: 0, below: 1 }),
    about({ text: 'fraction of the features that dropout zeroes', flag: '--dropout <fraction>', otherwise: '0' })
  )
})

/** The size of a GPT, or of a text classifier. The vocabulary and the context are those of the data. */
export interface GptOptions extends GivenOptions<typeof gptOptions>, ToldByName {}

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
export function gpt(shape: ZooShape, options: GptOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const { layers, heads, width, dropout: rate } = transformerSize(options, '', USUAL)
  if (input.length !== 1)
    throw new ArbalestError('SHAPE_MISMATCH', `model gpt: received samples ${shownShape(input)}; it takes tokens (T): give it a text`)
  return gptOfForm({
    ...GPT_2,
    tokens: classes,
    context: input[0]!,
    layers,
    heads,
    width,
    inner: 4 * width,
    embeddingDropout: rate,
    dropout: rate
  })
}

/** All that GPTs of GPT-2's architecture differ in. */
export interface GptForm {
  /** Tokens of the vocabulary. */
  readonly tokens: number
  /** Positions. */
  readonly context: number
  readonly layers: number
  readonly heads: number
  readonly width: number
  /** Features between the two linear layers of a feed-forward network. */
  readonly inner: number
  readonly activation: GptActivation
  /** Of all norms. */
  readonly epsilon: number
  /** Whether the head has the embedding's weights. */
  readonly tied: boolean
  /** Of the features behind the embedding. */
  readonly embeddingDropout: number
  /** At the end of each branch. */
  readonly dropout: number
}

/** Activations of a feed-forward network: `geluTanh` is GPT-2's. */
export type GptActivation = keyof typeof ACTIVATIONS

const ACTIVATIONS = {
  geluTanh: () => gelu({ approximate: 'tanh' }),
  gelu: () => gelu(),
  relu: () => relu(),
  silu: () => silu()
}

const GPT_2 = { activation: 'geluTanh', epsilon: 1e-5, tied: true } as const

/** A GPT of any form that GPT-2's architecture has. */
export function gptOfForm(form: GptForm): Model {
  const { tokens, context, layers, heads, width, inner, activation, epsilon, tied, embeddingDropout, dropout: rate } = form
  // All branches together then add as much to the sum as one would.
  const last = DEVIATION / Math.sqrt(2 * layers)
  const norm = layerNorm({ name: 'norm', ...(epsilon !== GPT_2.epsilon && { epsilon }) })
  return defineModel({
    name: 'gpt',
    input: [context],
    layers: [
      embedding(tokens, width, { name: 'tokens', initialiser: from(DEVIATION).initialiser }),
      positions({ name: 'positions' }),
      dropout(embeddingDropout),
      ...Array.from({ length: layers }, (_, i) => [
        branch(`block${i}.attention`, norm, [
          linear(3 * width, { name: 'qkv', ...from(DEVIATION) }),
          causalSelfAttention(heads, { name: 'heads' }),
          linear(width, { name: 'projection', ...from(last) }),
          dropout(rate)
        ]),
        branch(`block${i}.feedForward`, norm, [
          linear(inner, { name: 'expand', ...from(DEVIATION) }),
          ACTIVATIONS[activation](),
          linear(width, { name: 'projection', ...from(last) }),
          dropout(rate)
        ])
      ]).flat(),
      norm,
      linear(tokens, { name: 'head', bias: false, ...(tied ? { tied: 'tokens' } : { initialiser: from(DEVIATION).initialiser }) })
    ]
  })
}

/** x + body(norm(x)) */
function branch(name: string, norm: Layer, body: readonly Layer[]): Layer {
  return residual({ name, relu: false, body: [norm, ...body] })
}

function from(std: number) {
  return { initialiser: { kind: 'normal', std }, biasInitialiser: { kind: 'constant', value: 0 } } as const
}

export const gptFamily: ZooFamily = {
  models: { gpt },
  usual: { input: [128], classes: 65 },
  defaults: { ...COMMON, batch: 16, learningRate: 0.1, weightDecay: 0, epochs: 20, milestones: [0.8] },
  checkSize: (size, path) => void transformerSize(size, path, USUAL)
}
