import * as v from 'valibot'
import { ArbalestError, shown } from '../../errors.js'
import type { Layer } from '../../model/layer.js'
import type { Model } from '../../model/model.js'
import { vitOfForm, type VitForm } from '../../model/zoo/vit.js'
import { checked } from '../json-file.js'
import { computesAs, type Architecture } from './architecture.js'
import { activationOf, classesOf, lossOf, nameOfActivation, problemOf, refuseUnsupported, size } from './config-fields.js'
import type { TensorRule } from './tensor-rules.js'

const schema = v.looseObject({
  hidden_size: v.optional(size(2 ** 16), 768),
  num_hidden_layers: v.optional(size(1000), 12),
  num_attention_heads: v.optional(size(2 ** 16), 12),
  intermediate_size: v.optional(size(2 ** 18), 3072),
  hidden_dropout_prob: v.optional(v.pipe(v.number(), v.minValue(0), v.ltValue(1)), 0),
  layer_norm_eps: v.optional(v.pipe(v.number(), v.gtValue(0), v.ltValue(1)), 1e-12),
  image_size: v.optional(size(8192), 224),
  patch_size: v.optional(size(8192), 16),
  num_channels: v.optional(size(1024), 3)
})

/** Vision transformers (Dosovitskiy et al., ICLR 2021). */
export const vit: Architecture = {
  type: 'vit',
  samples: 'images',
  prefix: 'vit.',
  ignored: /(^|\.)pooler\.dense\.(weight|bias)$/,
  head: 'head',
  read(config, file) {
    const given = checked(schema, config, file)
    refuseUnsupported(config, { qkv_bias: true }, file)
    const { hidden_size: width, num_attention_heads: heads, image_size: side, patch_size: patch, num_channels: channels } = given
    if (width % heads !== 0)
      throw new ArbalestError(
        'SHAPE_MISMATCH',
        `${file}: hidden_size: received ${width}; it must be a multiple of num_attention_heads, ${heads}`
      )
    if (side % patch !== 0)
      throw new ArbalestError('SHAPE_MISMATCH', `${file}: image_size: received ${side}; it must be a multiple of patch_size, ${patch}`)
    const form: VitForm = {
      layers: given.num_hidden_layers,
      heads,
      width,
      inner: given.intermediate_size,
      patch,
      tanh: activationOf(config, 'hidden_act', { file, usual: 'gelu', only: ['gelu', 'geluTanh'] }) === 'geluTanh',
      epsilon: given.layer_norm_eps,
      dropout: given.hidden_dropout_prob
    }
    const { count } = classesOf(config)
    const loss = lossOf(config, count, file)
    return {
      classes: count,
      loss,
      imageSize: side,
      channels,
      modelFor({ input = [channels, side, side], classes = count, loss: wanted = loss }) {
        if (String(input) === String([channels, side, side])) return { ...vitOfForm(nameOf(form), { input, classes }, form), loss: wanted }
        throw new ArbalestError(
          'SHAPE_MISMATCH',
          `${file}: the data has samples ${shown(input)}, where its positions are those of images ${shown([channels, side, side])}; give it such images`
        )
      },
      rules: () => rulesOf(form)
    }
  },
  configOf(model) {
    const form = formOf(model)
    const [channels, height, width] = model.input
    const shape = { input: model.input, classes: (model.layers.at(-1) as { readonly features?: number }).features ?? 1 }
    if (!form || height !== width || !computesAs(vitOfForm('', shape, form), model)) return undefined
    const config = {
      architectures: ['ViTForImageClassification'],
      problem_type: problemOf(model.loss),
      num_channels: channels,
      image_size: height,
      patch_size: form.patch,
      hidden_size: form.width,
      num_hidden_layers: form.layers,
      num_attention_heads: form.heads,
      intermediate_size: form.inner,
      hidden_act: nameOfActivation(form.tanh ? 'geluTanh' : 'gelu'),
      hidden_dropout_prob: form.dropout,
      attention_probs_dropout_prob: 0,
      layer_norm_eps: form.epsilon,
      qkv_bias: true
    }
    return { config, rules: rulesOf(form) }
  }
}

/** As the zoo calls those of the paper. */
function nameOf({ layers, width }: VitForm): string {
  const known: Readonly<Record<number, string>> = { 192: 'vit-tiny', 384: 'vit-small', 768: 'vit-base' }
  return (layers === 12 ? known[width] : undefined) ?? 'vit'
}

function rulesOf({ layers }: VitForm): readonly TensorRule[] {
  return [
    { ours: 'cls_token', theirs: ['vit.embeddings.cls_token'] },
    { ours: 'pos_embed', theirs: ['vit.embeddings.position_embeddings'] },
    ...affine('patch_embed.proj', 'vit.embeddings.patch_embeddings.projection'),
    ...Array.from({ length: layers }, (_, i) => {
      const theirs = `vit.encoder.layer.${i}`
      return [
        ...affine(`blocks.${i}.norm1`, `${theirs}.layernorm_before`),
        ...affine(`blocks.${i}.attn.qkv`, ...['query', 'key', 'value'].map((part) => `${theirs}.attention.attention.${part}`)),
        ...affine(`blocks.${i}.attn.proj`, `${theirs}.attention.output.dense`),
        ...affine(`blocks.${i}.norm2`, `${theirs}.layernorm_after`),
        ...affine(`blocks.${i}.mlp.fc1`, `${theirs}.intermediate.dense`),
        ...affine(`blocks.${i}.mlp.fc2`, `${theirs}.output.dense`)
      ]
    }).flat(),
    ...affine('norm', 'vit.layernorm'),
    ...affine('head', 'classifier')
  ]
}

function affine(ours: string, ...theirs: readonly string[]): readonly TensorRule[] {
  return ['weight', 'bias'].map((part) => ({ ours: `${ours}.${part}`, theirs: theirs.map((name) => `${name}.${part}`) }))
}

/** The form that a model has if it is a vision transformer at all. */
function formOf({ layers }: Model): VitForm | undefined {
  const [patches] = layers
  const blocks = layers.filter((layer) => layer.kind === 'residual')
  const inBlocks: readonly Layer[] = blocks.flatMap(({ body }) => body)
  const attention = inBlocks.find((layer) => layer.kind === 'selfAttention')
  const expand = inBlocks.find((layer) => layer.kind === 'linear' && layer.name === 'mlp.fc1')
  const activation = inBlocks.find((layer) => layer.kind === 'gelu')
  const norm = layers.find((layer) => layer.kind === 'layerNorm')
  if (patches?.kind !== 'conv2d' || expand?.kind !== 'linear' || !attention || !activation || !norm) return undefined
  return {
    layers: blocks.length / 2,
    heads: attention.heads,
    width: patches.filters,
    inner: expand.features,
    patch: typeof patches.kernel === 'number' ? patches.kernel : patches.kernel[0],
    tanh: activation.approximate === 'tanh',
    epsilon: norm.epsilon ?? 1e-5,
    dropout: layers.find((layer) => layer.kind === 'dropout')?.rate ?? 0
  }
}
