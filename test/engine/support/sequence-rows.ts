import * as magnitude from './magnitudes.js'
import { activation, classWeights, label, positive, wide, type Port } from './operator-case.js'
import type { OperatorRow, Use } from './operator-table.js'
import { lengthsPort, recurrentRows, type RecurrentExtents } from './recurrent-rows.js'
import * as sequence from './sequence-magnitudes.js'

const named = (shape: readonly number[]): string => shape.join('x')

const tokens = (known: number, ...shape: number[]): Port => ({ ...label(known, 1), shape })

const matmulCases: Use[] = [
  [[], 1, 1, 1],
  [[], 7, 13, 5],
  [[2], 3, 17, 9],
  [[2, 3], 8, 4, 16],
  [[5], 33, 70, 31]
].flatMap(([batch, m, k, o]) =>
  [
    { transposeA: 0, transposeB: 0 },
    { transposeA: 0, transposeB: 1 },
    { transposeA: 1, transposeB: 0 },
    { transposeA: 1, transposeB: 1 }
  ].map((attributes): Use => {
    const matrix = (rows: number, columns: number, transposed: number): Port =>
      activation(...(batch as number[]), ...(transposed ? [columns, rows] : [rows, columns]))
    const [M, K, O] = [m, k, o] as [number, number, number]
    return {
      name: `${named([...(batch as number[]), M, K, O])} ${JSON.stringify(attributes)}`,
      attributes,
      inputs: { a: matrix(M, K, attributes.transposeA), b: matrix(K, O, attributes.transposeB) },
      outputs: { y: matrix(M, O, 0) }
    }
  })
)

const linearCases: Use[] = [
  [2, 3, 7, 5],
  [3, 16, 33, 64],
  [1, 70, 128, 65]
].flatMap(([n, t, f, o]) =>
  [0, 1].map((relu): Use => ({
    name: `${named([n!, t!, f!])} to ${o}${relu ? ' with relu' : ''}`,
    attributes: { relu },
    inputs: { x: activation(n!, t!, f!), w: wide(o!, f!), b: wide(o!) },
    outputs: { y: activation(n!, t!, o!) }
  }))
)

const layerNormCases: Use[] = [
  [1, 1],
  [3, 2],
  [5, 17],
  [2, 3, 8],
  [2, 70, 33],
  [3, 5, 128],
  [1, 2, 784]
].map((shape) => ({
  name: named(shape),
  attributes: { epsilon: 1e-5 },
  inputs: {
    x: { ...activation(...shape), draw: (u: number): number => 3 * u + 1 },
    gamma: positive(shape.at(-1)!),
    beta: wide(shape.at(-1)!)
  },
  outputs: { y: activation(...shape), mean: wide(...shape.slice(0, -1)), inverse: wide(...shape.slice(0, -1)) }
}))

const embeddingCases: Use[] = [
  [1, 1, 1, 1],
  [2, 5, 3, 7],
  [3, 16, 65, 33],
  [4, 70, 10, 128]
].map(([n, t, known, f]) => ({
  name: `${named([n!, t!])} of ${known} to ${f}`,
  attributes: {},
  inputs: { tokens: tokens(known!, n!, t!), table: wide(known!, f!) },
  outputs: { y: activation(n!, t!, f!) }
}))

const positionsCases: Use[] = [
  [1, 1, 1],
  [2, 3, 5],
  [3, 17, 33],
  [4, 2, 70],
  [2, 9]
].map((shape) => ({
  name: named(shape),
  attributes: {},
  inputs: { x: activation(...shape), table: wide(...shape.slice(1)) },
  outputs: { y: activation(...shape) }
}))

/** As a PyTorch module's own parameter, the table has an axis for the samples. */
const ownTableCases: Use[] = [
  [2, 3, 5],
  [3, 17, 33]
].map((shape) => ({
  name: `${named(shape)}, the table with an axis for samples`,
  attributes: {},
  inputs: { x: activation(...shape), table: wide(1, ...shape.slice(1)) },
  outputs: { y: activation(...shape) }
}))

const imageCases: Use[] = [
  [1, 1, 1, 1],
  [1, 3, 5, 7],
  [3, 17, 3, 5],
  [2, 16, 9, 9],
  [2, 70, 5, 1],
  [1, 64, 8, 8]
].map(([n, c, h, w]) => ({
  name: named([n!, c!, h!, w!]),
  attributes: {},
  inputs: { x: activation(n!, c!, h!, w!) },
  outputs: { y: activation(n!, h! * w!, c!) }
}))

const tokenCases: Use[] = [
  [1, 1, 1],
  [2, 3, 5],
  [3, 17, 33],
  [4, 2, 70],
  [2, 16, 64]
].map(([n, t, f]) => ({
  name: named([n!, t!, f!]),
  attributes: {},
  inputs: { x: activation(n!, t!, f!), token: wide(1, 1, f!) },
  outputs: { y: activation(n!, 1 + t!, f!) }
}))

const takeCases: Use[] = [
  [1, 1, 1, 0],
  [2, 3, 5, 2],
  [3, 17, 33, 0],
  [4, 2, 70, 1],
  [2, 16, 64, 7]
].map(([n, t, f, position]) => ({
  name: `position ${position} of ${named([n!, t!, f!])}`,
  attributes: { position: position! },
  inputs: { x: activation(n!, t!, f!) },
  outputs: { y: activation(n!, f!) }
}))

/** A position counted from the end of each, which some sequences do not have. */
const takeLastCases: Use[] = takeCases.flatMap(({ inputs }) => {
  const [, t, f] = inputs['x']!.shape as [number, number, number]
  return [-1, -t].map((position) => ({
    name: `position ${position} of 7x${t}x${f}, padded`,
    attributes: { position },
    inputs: { x: activation(7, t, f), lengths: lengthsPort(7, t) },
    outputs: { y: activation(7, f) }
  }))
})

const attentionCases: Use[] = [
  [1, 1, 1, 1],
  [2, 5, 4, 2],
  [1, 9, 10, 2],
  [2, 25, 24, 3],
  [1, 49, 64, 2],
  [2, 130, 32, 1],
  [1, 37, 7, 7],
  [2, 65, 66, 2],
  [1, 203, 10, 2],
  [1, 301, 33, 1],
  // Heads of 8 features and more, by eights, over several pieces of a sequence.
  [1, 150, 128, 1],
  [2, 261, 80, 2],
  [1, 129, 128, 2],
  [3, 128, 16, 1]
].map(([n, t, f, heads]) => ({
  name: `${named([n!, t!, f!])} with ${heads} heads`,
  attributes: { heads: heads! },
  inputs: { qkv: activation(n!, t!, 3 * f!) },
  outputs: { y: activation(n!, t!, f!), logSum: wide(n!, heads!, t!) }
}))

const paddedAttentionCases: Use[] = attentionCases.flatMap(({ name, attributes, inputs, outputs }) => {
  const [n, t] = inputs['qkv']!.shape as [number, number]
  return [1, 5].map((times) => ({
    seldom: times > 1 && n * t > 200,
    name: `${name}, ${times * n} padded`,
    attributes,
    inputs: { qkv: activation(times * n, t, inputs['qkv']!.shape[2]!), lengths: lengthsPort(times * n, t) },
    outputs: Object.fromEntries(Object.entries(outputs).map(([port, of]) => [port, { ...of!, shape: [times * n, ...of!.shape.slice(1)] }]))
  }))
})

const lengthsCases: Use[] = [
  [1, 1],
  [3, 5],
  [17, 9],
  [40, 70]
].flatMap(([n, t]) =>
  [0, 2].map((padding) => ({
    name: `${named([n!, t!])} padded with ${padding}`,
    attributes: { padding },
    // Often padding, so that some sequences end in several, and some have it before their end.
    inputs: { tokens: { ...tokens(4, n!, t!), draw: (u: number): number => (u < 0.6 ? padding : Math.floor(4 * u)) } },
    outputs: { y: wide(n!) }
  }))
)

const meanCases: Use[] = [
  [1, 1, 1],
  [1, 5, 3],
  [1, 9, 70],
  [2, 64, 17]
].map(([n, t, f]) => ({
  name: named([n!, t!, f!]),
  attributes: {},
  inputs: { x: activation(n!, t!, f!) },
  outputs: { y: activation(n!, f!) }
}))

const paddedMeanCases: Use[] = meanCases.map(({ name, attributes, inputs }) => {
  const [, t, f] = inputs['x']!.shape as [number, number, number]
  return {
    name: `${name}, 7 padded`,
    attributes,
    inputs: { x: activation(7, t, f), lengths: lengthsPort(7, t) },
    outputs: { y: activation(7, f) }
  }
})

const crossEntropyCases: Use[] = [
  [2, 3, 7],
  [4, 16, 65]
].map(([n, t, k]) => ({
  name: named([n!, t!, k!]),
  attributes: {},
  inputs: { logits: { ...activation(n!, t!, k!), draw: (u: number): number => 8 * u - 4 }, target: tokens(k!, n!, t!) },
  outputs: { loss: wide(1), differences: activation(n!, t!, k!), correct: wide(1) }
}))

/** Positions without a class: some, most, and all; more of them than a kernel has threads. */
const someClassesCases: Use[] = [
  [2, 3, 7, 0.4, 0, 0],
  [3, 211, 19, 0.9, 0.2, 0],
  [3, 211, 19, 0.5, 0.2, 1],
  [1, 4, 5, 1, 0, 1]
].map(([n, t, k, without, smoothing, weighed]) => ({
  name: `${named([n!, t!, k!])}, ${without} of them without a class${weighed ? ', by weights' : ''}`,
  attributes: { smoothing: smoothing!, top: 2, ...(weighed && { weights: classWeights(k!) }) },
  inputs: {
    logits: { ...activation(n!, t!, k!), draw: (u: number): number => 8 * u - 4 },
    target: { ...tokens(k!, n!, t!), draw: (u: number): number => (u < without! ? -1 : Math.floor(((u - without!) / (1 - without!)) * k!)) }
  },
  outputs: { loss: wide(1), differences: activation(n!, t!, k!), correct: wide(1), amongTop: wide(1) }
}))

/** As a model is measured. */
const ofAllCases: Use[] = someClassesCases.map((use) => ({
  ...use,
  name: `${use.name}, of all`,
  attributes: { top: 2, ofAll: 1 },
  outputs: { loss: wide(1), differences: null, correct: wide(1), amongTop: wide(1) }
}))

/** One sample, one position and one feature; registers in part and whole; several tiles of samples. */
const RECURRENT: readonly RecurrentExtents[] = [
  [1, 1, 1],
  [2, 3, 5],
  [3, 4, 16],
  [17, 5, 33],
  [2, 9, 70],
  [5, 2, 128],
  [13, 3, 24],
  [1, 6, 7]
]

/** Operators over sequences, and cases of others whose tensors have an axis more there. */
export const sequenceRows: readonly OperatorRow[] = [
  { kind: 'matmul', magnitude: magnitude.absolute, cases: matmulCases, backward: [] },
  {
    kind: 'linear',
    magnitude: magnitude.absolute,
    cases: linearCases,
    backward: [
      { kind: 'linearBackwardData', inputs: ['gy', 'w'], outputs: ['gx'], magnitude: magnitude.absolute },
      { kind: 'linearBackwardWeights', inputs: ['x', 'gy'], outputs: ['gw', 'gb'], magnitude: magnitude.absolute }
    ]
  },
  {
    kind: 'layerNorm',
    magnitude: sequence.layerNorm,
    cases: layerNormCases,
    backward: [
      {
        kind: 'layerNormBackward',
        inputs: ['x', 'gamma', 'mean', 'inverse', 'gy'],
        outputs: ['gx', 'ggamma', 'gbeta'],
        magnitude: sequence.layerNormBackward
      }
    ]
  },
  {
    kind: 'embedding',
    magnitude: sequence.absoluteOfTokens,
    cases: embeddingCases,
    backward: [{ kind: 'embeddingBackward', inputs: ['tokens', 'gy'], outputs: ['gtable'], magnitude: sequence.absoluteOfTokens }]
  },
  {
    kind: 'positions',
    magnitude: magnitude.absolute,
    cases: [...positionsCases, ...ownTableCases],
    backward: [{ kind: 'positionsBackward', inputs: ['gy'], outputs: ['gtable'], magnitude: magnitude.absolute }]
  },
  {
    kind: 'causalSelfAttention',
    magnitude: sequence.attention,
    cases: attentionCases,
    backward: [
      {
        kind: 'causalSelfAttentionBackward',
        inputs: ['qkv', 'y', 'logSum', 'gy'],
        outputs: ['gqkv'],
        magnitude: sequence.attentionBackward
      }
    ]
  },
  {
    kind: 'selfAttention',
    magnitude: sequence.fullAttention,
    cases: attentionCases,
    backward: [
      {
        kind: 'selfAttentionBackward',
        inputs: ['qkv', 'y', 'logSum', 'gy'],
        outputs: ['gqkv'],
        magnitude: sequence.fullAttentionBackward
      }
    ]
  },
  {
    kind: 'selfAttention',
    magnitude: sequence.fullAttention,
    cases: paddedAttentionCases,
    backward: [
      {
        kind: 'selfAttentionBackward',
        inputs: ['qkv', 'y', 'logSum', 'gy', 'lengths'],
        outputs: ['gqkv'],
        magnitude: sequence.fullAttentionBackward
      }
    ]
  },
  ...recurrentRows(RECURRENT),
  { kind: 'lengths', magnitude: magnitude.exact, cases: lengthsCases, backward: [] },
  {
    kind: 'meanPositions',
    magnitude: magnitude.absolute,
    cases: paddedMeanCases,
    backward: [{ kind: 'meanPositionsBackward', inputs: ['gy', 'lengths'], outputs: ['gx'], magnitude: magnitude.absolute }]
  },
  {
    kind: 'imagePositions',
    magnitude: magnitude.exact,
    cases: imageCases,
    backward: [{ kind: 'imagePositionsBackward', inputs: ['gy'], outputs: ['gx'], magnitude: magnitude.exact }]
  },
  {
    kind: 'classToken',
    // The token is rounded under bf16.
    magnitude: magnitude.absolute,
    cases: tokenCases,
    backward: [{ kind: 'classTokenBackward', inputs: ['gy'], outputs: ['gx', 'gtoken'], magnitude: magnitude.absolute }]
  },
  {
    kind: 'classToken',
    magnitude: magnitude.absolute,
    cases: tokenCases,
    // The images want no gradient.
    backward: [{ kind: 'classTokenBackward', inputs: ['gy'], outputs: ['none', 'gtoken'], magnitude: magnitude.absolute }]
  },
  {
    kind: 'takePosition',
    magnitude: magnitude.exact,
    cases: takeCases,
    backward: [{ kind: 'takePositionBackward', inputs: ['gy'], outputs: ['gx'], magnitude: magnitude.exact }]
  },
  {
    kind: 'takePosition',
    magnitude: magnitude.exact,
    cases: takeLastCases,
    backward: [{ kind: 'takePositionBackward', inputs: ['gy', 'lengths'], outputs: ['gx'], magnitude: magnitude.exact }]
  },
  {
    kind: 'meanPositions',
    magnitude: magnitude.absolute,
    cases: meanCases,
    backward: [{ kind: 'meanPositionsBackward', inputs: ['gy'], outputs: ['gx'], magnitude: magnitude.absolute }]
  },
  {
    kind: 'softmaxCrossEntropy',
    magnitude: magnitude.softmaxCrossEntropy,
    cases: crossEntropyCases,
    backward: [
      {
        kind: 'softmaxCrossEntropyBackward',
        inputs: ['differences', 'target'],
        outputs: ['glogits'],
        magnitude: magnitude.softmaxCrossEntropyBackward
      }
    ]
  },
  {
    kind: 'softmaxCrossEntropy',
    magnitude: magnitude.softmaxCrossEntropy,
    cases: someClassesCases,
    backward: [
      {
        kind: 'softmaxCrossEntropyBackward',
        inputs: ['differences', 'target'],
        outputs: ['glogits'],
        magnitude: magnitude.softmaxCrossEntropyBackward
      }
    ]
  },
  { kind: 'softmaxCrossEntropy', magnitude: magnitude.softmaxCrossEntropy, cases: ofAllCases, backward: [] }
]
