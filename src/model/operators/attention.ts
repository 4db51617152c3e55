import { NONE, type ValueId } from '../graph.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf, type LayerRow } from './layer-table.js'
import { countingNodes, lengthsOf, type Padded } from './lengths.js'
import { node, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { backwardBy, defineComposable, defineOperators, type Shape } from './table.js'

type HeadsAttributes = { readonly heads: number }

declare module '../graph.js' {
  interface ComposableOperators {
    /**
     * qkv (N,T,3F), queries, keys and values, each head by head -> y (N,T,F), logSum (N,heads,T)?
     *
     * softmax(q k' / sqrt(F / heads)) v of each head, where position t sees positions 0 to t; `logSum` is the logarithm of the softmax's sum, from
     * which the backward operator has the probabilities again: nothing of size T * T is kept.
     */
    causalSelfAttention: HeadsAttributes
    /**
     * qkv, lengths (N)? -> y, logSum?, as `causalSelfAttention`, where each position sees all, or all before the length of its sequence; those behind see
     * none and give zeros.
     */
    selfAttention: HeadsAttributes
  }
  interface Operators {
    /** qkv, y, logSum, gy -> gqkv */
    causalSelfAttentionBackward: HeadsAttributes
    /** qkv, y, logSum, gy, lengths? -> gqkv */
    selfAttentionBackward: HeadsAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    causalSelfAttention: SelfAttentionLayer<'causalSelfAttention'>
    selfAttention: FullSelfAttentionLayer
  }
}

/** (T, 3F) to (T, F), each position from those up to itself, or from all. */
export interface SelfAttentionLayer<Kind extends string = 'causalSelfAttention' | 'selfAttention'> extends Named {
  readonly kind: Kind
  readonly heads: number
}

/** Attention of an encoder. With `padding`, positions behind the end of a text are not seen, and give zeros. */
export interface FullSelfAttentionLayer extends SelfAttentionLayer<'selfAttention'>, Padded {}

/**
 * Self-attention in which a position sees itself and those before it (Vaswani et al., NeurIPS 2017): (T, 3F), queries, keys and values, to
 * (T, F). Put `linear(3 * F)` before it and `linear(F)` after it.
 */
export function causalSelfAttention(
  heads: number,
  options: LayerOptions<SelfAttentionLayer, 'heads'> = {}
): SelfAttentionLayer<'causalSelfAttention'> {
  return { kind: 'causalSelfAttention', heads, ...optionsOf('causalSelfAttention', options) }
}

/**
 * Self-attention in which a position sees all positions, as in an encoder: (T, 3F) to (T, F), as `causalSelfAttention` takes them; with `padding`, all
 * up to the last token of the model's input that is not that one.
 */
export function selfAttention(heads: number, options: LayerOptions<FullSelfAttentionLayer, 'heads'> = {}): FullSelfAttentionLayer {
  return { kind: 'selfAttention', heads, ...optionsOf('selfAttention', options) }
}

const attention: LayerRow<SelfAttentionLayer & Padded> = {
  stem: 'attention',
  properties: { heads: true, padding: true },
  build(layer, to, x) {
    const shape = to.shape(x)
    const heads = to.wholeNumber('heads', layer.heads, 1)
    if (shape.length !== 3 || shape[2]! % 3) throw to.mismatch(x, 'it takes (T, 3F): put linear(3 * F) before it')
    const [batch, length, features] = [shape[0]!, shape[1]!, shape[2]! / 3]
    if (features % heads) throw to.invalid('heads', heads, `use a divisor of its ${features} features`)
    if (layer.padding === undefined) return to.result(layer.kind, x, [batch, length, features], { heads })
    if (layer.kind !== 'selfAttention') throw to.invalid('padding', layer.padding, 'leave it out: no position sees those behind it')
    return to.result(layer.kind, x, [batch, length, features], { heads }, [lengthsOf(to, x, layer.padding)])
  }
}

defineLayers({ causalSelfAttention: attention, selfAttention: attention })

const kept = ({ inputs: [qkv], outputs: [y, logSum] }: { readonly inputs: readonly ValueId[]; readonly outputs: readonly ValueId[] }) =>
  [qkv!, y!, logSum!] as const

const saved = ([batch, length]: Shape, { heads }: HeadsAttributes) =>
  [{ suffix: 'logSum', shape: [batch!, heads, length!], type: 'statistic' }] as const

defineComposable({
  causalSelfAttention: {
    saved,
    gradient: backwardBy('causalSelfAttentionBackward', kept),
    flops: ({ outputs: [y], attributes }) => attentionFlops(y!, attributes, causalPairs(y!), 2),
    onnx: (operator) => attentionNodes(operator, true)
  },
  selfAttention: {
    saved,
    gradient(pass) {
      const lengths = pass.inputs[1] ?? NONE
      const read = [...kept(pass), pass.gradient(), ...(lengths === NONE ? [] : [lengths])]
      pass.emit('selfAttentionBackward', read, [pass.contribution(0)], pass.attributes)
    },
    flops: ({ outputs: [y], attributes }) => attentionFlops(y!, attributes, allPairs(y!), 2),
    onnx: (operator) => attentionNodes(operator, false)
  }
})

defineOperators({
  causalSelfAttentionBackward: { flops: ({ inputs: [, y], attributes }) => attentionFlops(y!, attributes, causalPairs(y!), 5) },
  selfAttentionBackward: { flops: ({ inputs: [, y], attributes }) => attentionFlops(y!, attributes, allPairs(y!), 5) }
})

const causalPairs = ([batch, length]: Shape): number => (batch! * length! * (length! + 1)) / 2
const allPairs = ([batch, length]: Shape): number => batch! * length! ** 2

/** So many products over the pairs of positions that see each other, and five operations a pair for the softmax. */
function attentionFlops([, , features]: Shape, { heads }: HeadsAttributes, pairs: number, products: number): number {
  return pairs * (2 * products * features! + 5 * heads)
}

/**
 * softmax(q k' / sqrt(D) + mask) v of each head, the mask if `causal` or if there are lengths, H of them and D wide: (N, T, 3F) to (N, T, F).
 */
function attentionNodes(
  { name, inputs: [qkv, lengths = ''], output, shapes, attributes: { heads } }: OnnxOperator<HeadsAttributes>,
  causal: boolean
): OnnxNodes {
  const [, length, tripled] = shapes[0] as [number, number, number]
  const depth = tripled / 3 / heads
  const part = (suffix: string): string => `${output} ${suffix}`
  const step = (opType: string, of: readonly string[], to: string, attributes = {}) =>
    node(opType, `${name} ${to}`, of, part(to), attributes)
  const padded = lengths === '' ? undefined : countingNodes(name, output, lengths, length)
  const mask = causal ? `causal mask ${length}` : padded && part('mask')
  return {
    nodes: [
      step('Reshape', [qkv!, part('split')], 'by head'),
      // (3, N, H, T, D), then one of the three: (1, N, H, T, D), and the keys (1, N, H, D, T).
      step('Transpose', [part('by head')], 'parts', { perm: [2, 0, 3, 1, 4] }),
      ...['queries', 'keys', 'values'].map((each) => step('Gather', [part('parts'), part(`${each} at`)], each)),
      step('Transpose', [part('keys')], 'keys turned', { perm: [0, 1, 2, 4, 3] }),
      step('Mul', [part('queries'), part('scale')], 'queries scaled'),
      step('MatMul', [part('queries scaled'), part('keys turned')], 'scores'),
      ...(padded
        ? [
            ...padded.nodes,
            // 0 where a position counts, else so low that it has no share: (N, 1, 1, T).
            step('Sub', [padded.counts, part('one')], 'uncounted'),
            step('Mul', [part('uncounted'), part('low')], 'lowered'),
            step('Reshape', [part('lowered'), part('by key')], 'mask')
          ]
        : []),
      ...(mask === undefined ? [] : [step('Add', [part('scores'), mask], 'scores masked')]),
      step('Softmax', [part(mask === undefined ? 'scores' : 'scores masked')], 'shares', { axis: -1 }),
      step('MatMul', [part('shares'), part('values')], 'mixed'),
      step('Transpose', [part('mixed')], 'by position', { perm: [0, 1, 3, 2, 4] }),
      ...(padded
        ? [
            step('Reshape', [part('by position'), part('joined')], 'all'),
            step('Reshape', [padded.counts, part('by query')], 'counts by query'),
            node('Mul', name, [part('all'), part('counts by query')], output)
          ]
        : [node('Reshape', name, [part('by position'), part('joined')], output)])
    ],
    constants: {
      ...padded?.constants,
      ...(padded && { [part('by key')]: [-1, 1, 1, length], [part('by query')]: [-1, length, 1] }),
      [part('split')]: [-1, length, 3, heads, depth],
      [part('joined')]: [-1, length, heads * depth],
      [part('queries at')]: [0],
      [part('keys at')]: [1],
      [part('values at')]: [2]
    },
    scalars: { [part('scale')]: 1 / Math.sqrt(depth), ...(padded && { [part('one')]: 1, [part('low')]: LOW }) },
    tables: { ...padded?.tables, ...(causal && { [mask!]: { shape: [length, length], data: causalMask(length) } }) }
  }
}

/** Far above any score of float32, and a finite number where all of a row's scores are so low. */
const LOW = 1e30

/** Position t sees positions 0 to t. */
function causalMask(length: number): Float32Array {
  return Float32Array.from({ length: length * length }, (_, i) => (i % length > Math.floor(i / length) ? -Infinity : 0))
}
