import { float, node, number, one, type OnnxNodes, type Rule, type Site } from './site.js'

/** The operators of sequences (N, T, F) by ONNX's operator set 17. */
export const SEQUENCE_RULES = {
  linear: linearOfRows,
  matmul,
  layerNorm: (site) => one('LayerNormalization', site, { axis: -1, epsilon: float(number(site, 'epsilon')) }),
  embedding: ({ name, inputs: [tokens, table], output }) => ({ nodes: [node('Gather', name, [table!, tokens!], output)] }),
  positions: (site) => one('Add', site),
  causalSelfAttention
} as const satisfies Readonly<Record<string, Rule>>

/** x w' + b of every row: Gemm takes matrices only, and the weight keeps its name and order. */
function linearOfRows({ name, inputs: [x, weight, bias = ''], output }: Site): OnnxNodes {
  const part = (what: string): string => `${output} ${what}`
  const product = bias === '' ? output : part('product')
  return {
    nodes: [
      node('Transpose', `${name} transpose`, [weight!], part('weight'), { perm: [1, 0] }),
      node('MatMul', bias === '' ? name : `${name} product`, [x!, part('weight')], product),
      ...(bias === '' ? [] : [node('Add', name, [product, bias], output)])
    ]
  }
}

function matmul(site: Site): OnnxNodes {
  const { name, inputs, shapes, output } = site
  const turned = (['transposeA', 'transposeB'] as const).map((attribute, i) =>
    number(site, attribute) === 1
      ? node('Transpose', `${name} ${attribute}`, [inputs[i]!], `${output} ${attribute}`, { perm: lastTwoTurned(shapes[i]!.length) })
      : undefined
  )
  const factors = inputs.map((input, i) => turned[i]?.output[0] ?? input)
  return { nodes: [...turned.filter((each) => each !== undefined), node('MatMul', name, factors, output)] }
}

function lastTwoTurned(rank: number): readonly number[] {
  const axes = Array.from({ length: rank }, (_, axis) => axis)
  return [...axes.slice(0, -2), rank - 1, rank - 2]
}

/** softmax(q k' / sqrt(D) + mask) v of each head, H of them and D wide: (N, T, 3F) to (N, T, F). */
function causalSelfAttention(site: Site): OnnxNodes {
  const { name, inputs, output } = site
  const [, length, tripled] = site.shape as [number, number, number]
  const heads = number(site, 'heads')
  const depth = tripled / 3 / heads
  const part = (what: string): string => `${output} ${what}`
  const step = (opType: string, of: readonly string[], to: string, attributes = {}) =>
    node(opType, `${name} ${to}`, of, part(to), attributes)
  const mask = `causal mask ${length}`
  return {
    nodes: [
      step('Reshape', [inputs[0]!, part('split')], 'by head'),
      // (3, N, H, T, D), then one of the three: (1, N, H, T, D), and the keys (1, N, H, D, T).
      step('Transpose', [part('by head')], 'parts', { perm: [2, 0, 3, 1, 4] }),
      ...['queries', 'keys', 'values'].map((each) => step('Gather', [part('parts'), part(`${each} at`)], each)),
      step('Transpose', [part('keys')], 'keys turned', { perm: [0, 1, 2, 4, 3] }),
      step('Mul', [part('queries'), part('scale')], 'queries scaled'),
      step('MatMul', [part('queries scaled'), part('keys turned')], 'scores'),
      step('Add', [part('scores'), mask], 'scores masked'),
      step('Softmax', [part('scores masked')], 'shares', { axis: -1 }),
      step('MatMul', [part('shares'), part('values')], 'mixed'),
      step('Transpose', [part('mixed')], 'by position', { perm: [0, 1, 3, 2, 4] }),
      node('Reshape', name, [part('by position'), part('joined')], output)
    ],
    constants: {
      [part('split')]: [-1, length, 3, heads, depth],
      [part('joined')]: [-1, length, heads * depth],
      [part('queries at')]: [0],
      [part('keys at')]: [1],
      [part('values at')]: [2]
    },
    scalars: { [part('scale')]: 1 / Math.sqrt(depth) },
    tables: { [mask]: { shape: [length, length], data: causalMask(length) } }
  }
}

/** Position t sees positions 0 to t. */
function causalMask(length: number): Float32Array {
  return Float32Array.from({ length: length * length }, (_, i) => (i % length > Math.floor(i / length) ? -Infinity : 0))
}
