import * as v from 'valibot'
import { ArbalestError, invalidOption, shown } from '../../errors.js'
import type { Layer } from '../../model/layer.js'
import type { Model } from '../../model/model.js'
import { gptOfForm, type GptActivation, type GptForm } from '../../model/zoo/gpt.js'
import { checked, type PlainObject } from '../json-file.js'
import { computesAs, type Architecture } from './architecture.js'
import { activationOf, nameOfActivation, refuseUnsupported, size } from './config-fields.js'
import type { TensorRule } from './tensor-rules.js'

const rate = v.pipe(v.number(), v.minValue(0), v.ltValue(1))

const schema = v.looseObject({
  vocab_size: v.optional(size(2 ** 20), 50257),
  n_positions: v.optional(size(2 ** 20), 1024),
  n_embd: v.optional(size(2 ** 16), 768),
  n_layer: v.optional(size(1000), 12),
  n_head: v.optional(size(2 ** 16), 12),
  n_inner: v.nullish(size(2 ** 18)),
  layer_norm_epsilon: v.optional(v.pipe(v.number(), v.gtValue(0), v.ltValue(1)), 1e-5),
  embd_pdrop: v.optional(rate, 0.1),
  resid_pdrop: v.optional(rate, 0.1),
  tie_word_embeddings: v.optional(v.boolean(), true)
})

/** Other names of the same fields, which hold for transformers where a config has both. */
const ALIASES: Readonly<Record<string, string>> = {
  hidden_size: 'n_embd',
  max_position_embeddings: 'n_positions',
  num_attention_heads: 'n_head',
  num_hidden_layers: 'n_layer'
}

const HEAD = 'lm_head.weight'

/** What other values of the config make of the attention is not what ours computes. */
const ONLY = { scale_attn_weights: true, scale_attn_by_inverse_layer_idx: false, add_cross_attention: false }

/** GPT-2 with the head of a language model (Radford et al., 2019). */
export const gpt2: Architecture = {
  type: 'gpt2',
  samples: 'tokens',
  prefix: 'transformer.',
  // Masks that older versions saved.
  ignored: /(^|\.)attn\.(bias|masked_bias)$/,
  head: 'head',
  read(config, file) {
    const given = checked(schema, { ...config, ...unaliased(config) }, file)
    refuseUnsupported(config, ONLY, file)
    if (given.n_embd % given.n_head !== 0)
      throw new ArbalestError(
        'SHAPE_MISMATCH',
        `${file}: n_embd: received ${given.n_embd}; it must be a multiple of n_head, ${given.n_head}`
      )
    const form: GptForm = {
      tokens: given.vocab_size,
      context: given.n_positions,
      layers: given.n_layer,
      heads: given.n_head,
      width: given.n_embd,
      inner: given.n_inner ?? 4 * given.n_embd,
      activation: activationOf(config, 'activation_function', { file, usual: 'geluTanh' }),
      epsilon: given.layer_norm_epsilon,
      tied: given.tie_word_embeddings,
      embeddingDropout: given.embd_pdrop,
      dropout: given.resid_pdrop
    }
    return {
      classes: form.tokens,
      loss: 'softmaxCrossEntropy',
      modelFor({ input = [form.context], classes = form.tokens }) {
        const [context = 0] = input
        if (input.length !== 1 || classes !== form.tokens)
          throw new ArbalestError(
            'SHAPE_MISMATCH',
            `${file}: the data has samples ${shown(input)} of ${classes} classes, where it has texts of ${form.tokens} tokens; give it a text (.txt)`
          )
        if (context > form.context)
          throw invalidOption('context', context, `${file} has ${form.context} positions (n_positions): use at most so many tokens`)
        return gptOfForm({ ...form, context })
      },
      rules: (model) => rulesOf({ ...form, context: model.input[0]! })
    }
  },
  configOf(model) {
    const form = formOf(model)
    if (!form || !computesAs(gptOfForm(form), model)) return undefined
    const config = {
      vocab_size: form.tokens,
      n_positions: form.context,
      n_embd: form.width,
      n_layer: form.layers,
      n_head: form.heads,
      n_inner: form.inner === 4 * form.width ? null : form.inner,
      activation_function: nameOfActivation(form.activation),
      layer_norm_epsilon: form.epsilon,
      resid_pdrop: form.dropout,
      embd_pdrop: form.embeddingDropout,
      attn_pdrop: 0,
      tie_word_embeddings: form.tied,
      ...ONLY
    }
    return { config: { architectures: ['GPT2LMHeadModel'], ...config }, rules: rulesOf(form) }
  }
}

function unaliased(config: PlainObject): PlainObject {
  return Object.fromEntries(Object.entries(ALIASES).flatMap(([alias, name]) => (alias in config ? [[name, config[alias]]] : [])))
}

function rulesOf({ layers, context, tied }: GptForm): readonly TensorRule[] {
  return [
    { ours: 'tokens.weight', theirs: ['transformer.wte.weight'], ...(tied && { copy: HEAD }) },
    { ours: 'positions.weight', theirs: ['transformer.wpe.weight'], rows: context },
    ...Array.from({ length: layers }, (_, i) => [
      ...affine(`block${i}.attention.norm`, `transformer.h.${i}.ln_1`),
      ...affine(`block${i}.attention.qkv`, `transformer.h.${i}.attn.c_attn`, true),
      ...affine(`block${i}.attention.projection`, `transformer.h.${i}.attn.c_proj`, true),
      ...affine(`block${i}.feedForward.norm`, `transformer.h.${i}.ln_2`),
      ...affine(`block${i}.feedForward.expand`, `transformer.h.${i}.mlp.c_fc`, true),
      ...affine(`block${i}.feedForward.projection`, `transformer.h.${i}.mlp.c_proj`, true)
    ]).flat(),
    ...affine('norm', 'transformer.ln_f'),
    ...(tied ? [] : [{ ours: 'head.weight', theirs: [HEAD] }])
  ]
}

/** GPT-2's linear layers are convolutions of size 1 there, whose weights are (in, out). */
function affine(ours: string, theirs: string, turned = false): readonly TensorRule[] {
  return [
    { ours: `${ours}.weight`, theirs: [`${theirs}.weight`], ...(turned && { turned }) },
    { ours: `${ours}.bias`, theirs: [`${theirs}.bias`] }
  ]
}

/** The form that a model has if it is a GPT at all. */
function formOf({ input, layers }: Model): GptForm | undefined {
  const [table] = layers
  const blocks = layers.filter((layer) => layer.kind === 'residual')
  const inBlocks = blocks.flatMap(({ body }) => body)
  const attention = inBlocks.find((layer) => layer.kind === 'causalSelfAttention')
  const expand = inBlocks.find((layer) => layer.kind === 'linear' && layer.name === 'expand') as
    Extract<Layer, { kind: 'linear' }> | undefined
  const norm = layers.find((layer) => layer.kind === 'layerNorm')
  const activation = activationIn(inBlocks)
  const head = layers.at(-1)
  if (table?.kind !== 'embedding' || head?.kind !== 'linear' || !attention || !expand || !norm || !activation) return undefined
  const { tokens, features: width } = table
  return {
    tokens,
    context: input[0]!,
    layers: blocks.length / 2,
    heads: attention.heads,
    width,
    inner: expand.features,
    activation,
    epsilon: norm.epsilon ?? 1e-5,
    tied: head.tied !== undefined,
    embeddingDropout: rateOf(layers),
    dropout: rateOf(inBlocks)
  }
}

/** Of the first dropout among these layers. */
function rateOf(layers: readonly Layer[]): number {
  return layers.find((layer) => layer.kind === 'dropout')?.rate ?? 0
}

function activationIn(layers: readonly Layer[]): GptActivation | undefined {
  for (const layer of layers) {
    if (layer.kind === 'gelu') return layer.approximate === 'tanh' ? 'geluTanh' : 'gelu'
    if (layer.kind === 'relu' || layer.kind === 'silu') return layer.kind
  }
  return undefined
}
