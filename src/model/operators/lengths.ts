import type { ValueId } from '../graph.js'
import type { LayerWriter } from './layer-writer.js'
import { node, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { defineOperators, sizeOf } from './table.js'

/** How many positions of padded sequences count. */

type PaddingAttributes = { readonly padding: number }

declare module '../graph.js' {
  interface Operators {
    /** tokens (N,T) -> lengths (N): the positions up to the last token that is not `padding` */
    lengths: PaddingAttributes
  }
}

/** The property of layers that leave out padding. */
export interface Padded {
  /**
   * The token that stands behind the end of a shorter text: positions behind the last other one do not count. The model's input must be tokens,
   * one for each position.
   */
  readonly padding?: number
}

/**
 * The lengths (N) of the sequences in x (N, T, F), by the tokens that the model takes: one value for all layers of a graph. Throws INVALID_MODEL where the model takes no
 * tokens, or other positions.
 */
export function lengthsOf(to: LayerWriter, x: ValueId, given: number): ValueId {
  const padding = to.wholeNumber('padding', given, 0)
  if (padding > MOST_TOKEN) throw to.invalid('padding', given, `use a token up to ${MOST_TOKEN}`)
  const tokens = to.find('input')!
  const [batch, positions] = to.shape(x)
  if (tokens.type !== 'integer' || tokens.shape[1] !== positions)
    throw to.invalid('padding', given, `leave it out: the model's input is not ${positions} tokens, one for each position`)
  const name = `input.lengths.${padding}`
  const known = to.find(name)
  if (known) return known.id
  const { graph } = to.context
  const lengths = graph.value(name, [batch!], { type: 'statistic' })
  graph.operator('lengths', name, [tokens.id], [lengths], { padding })
  return lengths
}

const MOST_TOKEN = 2 ** 31 - 1

defineOperators({
  lengths: { flops: ({ inputs: [tokens] }) => sizeOf(tokens), onnx: lengthsNodes }
})

/** The greatest of 1 to T where the token is not padding. */
function lengthsNodes({ name, inputs, output, shapes, attributes: { padding } }: OnnxOperator<PaddingAttributes>): OnnxNodes {
  const [, positions] = shapes[0] as [number, number]
  const part = (suffix: string): string => `${output} ${suffix}`
  const step = (opType: string, of: readonly string[], to: string, attributes = {}) =>
    node(opType, `${name} ${to}`, of, part(to), attributes)
  return {
    nodes: [
      step('Equal', [inputs[0]!, part('token')], 'padded'),
      step('Not', [part('padded')], 'counts'),
      step('Cast', [part('counts')], 'ones', { to: FLOAT }),
      step('Mul', [part('ones'), part('numbers')], 'numbered'),
      node('ReduceMax', name, [part('numbered')], output, { axes: [1], keepdims: 0 })
    ],
    constants: { [part('token')]: [padding] },
    tables: { [part('numbers')]: { shape: [positions], data: Float32Array.from({ length: positions }, (_, i) => i + 1) } }
  }
}

/** ONNX's number of the type. */
export const FLOAT = 1

/** 1 for each position (N, T) before the length of its sequence, else 0: the nodes, and the name of their result. */
export function countingNodes(name: string, output: string, lengths: string, positions: number): OnnxNodes & { readonly counts: string } {
  const part = (suffix: string): string => `${output} ${suffix}`
  const step = (opType: string, of: readonly string[], to: string, attributes = {}) =>
    node(opType, `${name} ${to}`, of, part(to), attributes)
  return {
    nodes: [
      step('Reshape', [lengths, part('by sequence')], 'lengths'),
      step('Less', [part('places'), part('lengths')], 'before'),
      step('Cast', [part('before')], 'counts', { to: FLOAT })
    ],
    constants: { [part('by sequence')]: [-1, 1] },
    tables: { [part('places')]: { shape: [positions], data: Float32Array.from({ length: positions }, (_, i) => i) } },
    counts: part('counts')
  }
}
