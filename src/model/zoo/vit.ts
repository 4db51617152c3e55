import { ArbalestError, unknownName } from '../../errors.js'
import { check } from '../../schema/faults.js'
import { group, option } from '../../schema/group.js'
import { whole } from '../../schema/values.js'
import { shownShape } from '../layer-checks.js'
import {
  classToken,
  conv2d,
  defineModel,
  dropout,
  gelu,
  imagePositions,
  layerNorm,
  linear,
  positions,
  residual,
  selfAttention,
  takePosition
} from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { checkedShape, IMAGENET_PIXELS, type ZooFamily, type ZooShape, WITH_LAYER_NORMS } from './family.js'
import { gptOptions, transformerSize, type GptOptions } from './gpt.js'

/** Of a vision transformer: blocks, heads, width, dropout, and the sides of its patches. */
export interface VitOptions extends GptOptions {
  /** Pixels a side of the square patches that become positions; 16 if left out, 4 for images of fewer than 96 pixels a side. */
  readonly patch?: number
}

const vitOptions = group({ ...gptOptions.entries, patch: option(whole({ min: 1 })) })

/** The vision transformers of the zoo. */
export type VitName = 'vit-tiny' | 'vit-small' | 'vit-base'

/** Sizes of Touvron et al., "Training data-efficient image transformers", ICML 2021, table 1. */
const SIZES: Readonly<Record<VitName, Required<GptOptions>>> = {
  'vit-tiny': { layers: 12, heads: 3, width: 192, dropout: 0 },
  'vit-small': { layers: 12, heads: 6, width: 384, dropout: 0 },
  'vit-base': { layers: 12, heads: 12, width: 768, dropout: 0 }
}

/** As in timm, of layer norms, and of all weights at first but those of the patches: its bounds, -2 and 2, are so far out that they cut nothing off. */
const EPSILON = 1e-6
const FIRST = { initialiser: { kind: 'normal', std: 0.02 }, biasInitialiser: { kind: 'constant', value: 0 } } as const

/**
 * A vision transformer (Dosovitskiy et al., ICLR 2021): patches of the image become positions behind a class token, blocks of attention and
 * feed-forward network with norms before each branch follow, and the class token's features are classified. Named as in timm, and for images of
 * 224 pixels a side the weights are those of `vit_tiny_patch16_224` (also `deit_tiny_patch16_224`), `vit_small_patch16_224` and
 * `vit_base_patch16_224`.
 *
 * Throws SHAPE_MISMATCH for images whose sides the patches do not divide.
 */
export function vit(shape: ZooShape, options: VitOptions = {}, name: VitName = 'vit-tiny'): Model {
  const { input, classes } = checkedShape(shape)
  if (typeof name !== 'string' || !Object.hasOwn(SIZES, name)) throw unknownName('name', name, Object.keys(SIZES))
  const { patch, ...given } = check(vitOptions, options)
  const { layers, heads, width, dropout: rate } = transformerSize(given, '', SIZES[name])
  const form = { layers, heads, width, inner: 4 * width, patch: patchFor(name, input, patch), tanh: false, epsilon: EPSILON, dropout: rate }
  return vitOfForm(name, { input, classes }, form)
}

/** All that vision transformers of this architecture differ in. */
export interface VitForm {
  readonly layers: number
  readonly heads: number
  readonly width: number
  /** Features between the two linear layers of a feed-forward network. */
  readonly inner: number
  /** Pixels a side of the patches. */
  readonly patch: number
  /** Whether GELU is computed by its approximation with tanh. */
  readonly tanh: boolean
  /** Of all norms. */
  readonly epsilon: number
  readonly dropout: number
}

/** A vision transformer of any form of this architecture. */
export function vitOfForm(name: string, { input, classes }: ZooShape, form: VitForm): Model {
  const { layers, width, patch, epsilon, dropout: rate } = form
  return defineModel({
    name,
    input,
    layers: [
      conv2d(width, patch, { stride: patch, name: 'patch_embed.proj' }),
      imagePositions({ name: 'patches' }),
      classToken({ name: 'with_class', parameter: 'cls_token', initialiser: { kind: 'normal', std: 1e-6 } }),
      positions({ name: 'with_positions', parameter: 'pos_embed', initialiser: FIRST.initialiser }),
      dropout(rate, { name: 'pos_drop' }),
      ...Array.from({ length: layers }, (_, i) => block(`blocks.${i}`, form)).flat(),
      layerNorm({ name: 'norm', epsilon }),
      takePosition(0, { name: 'class' }),
      linear(classes, { name: 'head', ...FIRST })
    ]
  })
}

/** x + attention(norm1(x)), then y + mlp(norm2(y)). */
function block(name: string, { heads, width, inner, tanh, epsilon, dropout: rate }: VitForm): readonly Layer[] {
  return [
    residual({
      name: `${name}.attention`,
      bodyName: name,
      relu: false,
      body: [
        layerNorm({ name: 'norm1', epsilon }),
        linear(3 * width, { name: 'attn.qkv', ...FIRST }),
        selfAttention(heads, { name: 'attn' }),
        linear(width, { name: 'attn.proj', ...FIRST }),
        dropout(rate, { name: 'attn.proj_drop' })
      ]
    }),
    residual({
      name: `${name}.feedForward`,
      bodyName: name,
      relu: false,
      body: [
        layerNorm({ name: 'norm2', epsilon }),
        linear(inner, { name: 'mlp.fc1', ...FIRST }),
        gelu({ name: 'mlp.act', ...(tanh && { approximate: 'tanh' }) }),
        dropout(rate, { name: 'mlp.drop1' }),
        linear(width, { name: 'mlp.fc2', ...FIRST }),
        dropout(rate, { name: 'mlp.drop2' })
      ]
    })
  ]
}

/** The sides of the patches. Throws SHAPE_MISMATCH unless they divide the image's. */
function patchFor(model: string, input: readonly number[], given: number | undefined): number {
  const [, height = 0, width = 0] = input
  const patch = given ?? (Math.min(height, width) < 96 ? 4 : 16)
  if (input.length === 3 && height % patch === 0 && width % patch === 0) return patch
  throw new ArbalestError(
    'SHAPE_MISMATCH',
    `model ${model}: received input ${shownShape(input)}; it takes images (C, H, W) whose sides are multiples of its patches of ${patch} pixels: scale the images, or give another patch`,
    { data: { model, received: input, patch } }
  )
}

export const vitFamilies: readonly ZooFamily[] = (Object.keys(SIZES) as VitName[]).map((name) => ({
  models: { [name]: (shape, size?: VitOptions) => vit(shape, size, name) },
  usual: { input: [3, 224, 224], classes: 1000 },
  defaults: WITH_LAYER_NORMS,
  normalisation: IMAGENET_PIXELS,
  checkSize: (size, path) => void transformerSize(size, path, SIZES[name])
}))
