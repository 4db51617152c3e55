import type { Attributes, OperatorKind } from '../../../src/model/graph.js'
import * as magnitude from './magnitudes.js'
import { activation, label, positive, wide, type OperatorCase, type Port } from './operator-case.js'
import { averageCases, convolutionCases, maximumCases } from './window-cases.js'

/** A backward operator by its ports: names of the forward's ports, `gy` for the gradient of its first output, `gx` for that of `x`. */
export interface BackwardRow {
  readonly kind: OperatorKind
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly magnitude: magnitude.Magnitude
}

/** One operator: to add it to the table, add a row. */
export interface OperatorRow {
  readonly kind: OperatorKind
  readonly magnitude: magnitude.Magnitude
  readonly cases: readonly Use[]
  /** For cases without relu, or for all where the backward operator takes y to mask with. */
  readonly backward: readonly BackwardRow[]
}

/** A case without its kind; `further` are inputs of the backward operator alone. */
export type Use = Omit<OperatorCase, 'kind'> & { readonly further?: Readonly<Record<string, Port | null>> }

const IMAGES = [
  [1, 1, 1, 2],
  [1, 3, 5, 7],
  [2, 8, 4, 4],
  [3, 17, 3, 5],
  [2, 16, 9, 9],
  [4, 31, 2, 3],
  [1, 64, 8, 8],
  [2, 70, 5, 1]
] as const

const FEATURES = [
  [1, 1],
  [1, 10],
  [3, 17],
  [16, 70],
  [2, 784]
] as const

const named = (shape: readonly number[]): string => shape.join('x')

/** One input, one output of the same shape. */
const alike = (shapes: readonly (readonly number[])[], attributes: Attributes): Use[] =>
  shapes.map((shape) => ({
    name: `${named(shape)} ${JSON.stringify(attributes)}`,
    attributes,
    inputs: { x: activation(...shape) },
    outputs: { y: activation(...shape) }
  }))

const linearCases: Use[] = [
  [1, 1, 1],
  [1, 784, 10],
  [2, 7, 13],
  [3, 33, 16],
  [8, 64, 10],
  [16, 256, 128],
  [5, 70, 67],
  [4, 800, 500]
].flatMap(([n, f, o]) =>
  [
    { bias: true, relu: 0 },
    { bias: false, relu: 0 },
    { bias: true, relu: 1 }
  ].map(({ bias, relu }) => ({
    name: `${n}x${f} to ${o}${bias ? ' with bias' : ''}${relu ? ' with relu' : ''}`,
    attributes: { relu },
    inputs: { x: activation(n!, f!), w: wide(o!, f!), b: bias ? wide(o!) : null },
    outputs: { y: activation(n!, o!) }
  }))
)

const batchNormCases = (inference: boolean): Use[] =>
  [...IMAGES.slice(1), [2, 3, 1, 1], [4, 2, 6, 6]].flatMap((shape) =>
    [
      { relu: 0, residual: false },
      { relu: 1, residual: false },
      { relu: 1, residual: true },
      { relu: 0, residual: true }
    ].map(({ relu, residual }) => {
      const c = shape[1]
      const statistics: Record<string, Port> = { mean: wide(c), variance: inference ? positive(c) : wide(c) }
      const x = { ...activation(...shape), draw: (u: number): number => 3 * u + 1 }
      const skipped = residual ? activation(...shape) : null
      return {
        name: `${named(shape)}${relu ? ' with relu' : ''}${residual ? ' with residual' : ''}`,
        attributes: { epsilon: 1e-5, relu },
        inputs: { x, gamma: positive(c), beta: wide(c), ...(inference ? statistics : {}), residual: skipped },
        outputs: { y: activation(...shape), ...(inference ? {} : statistics) },
        // The second gradient comes with every other case.
        further: { gy2: residual === (relu === 1) ? activation(...shape) : null }
      }
    })
  )

const foldCases: Use[] = [0, 1, 7].flatMap((batches) =>
  [1, 5, 70].map((c) => {
    const folded = { count: { ...wide(1), draw: () => batches }, foldedMean: wide(c), foldedVariance: positive(c) }
    return {
      name: `${c} channels after ${batches} batches`,
      attributes: {},
      inputs: { mean: wide(c), variance: positive(c), ...folded },
      outputs: folded
    }
  })
)

const addCases: Use[] = [...IMAGES, ...FEATURES].flatMap((shape) =>
  [0, 1].map((relu) => ({
    name: `${named(shape)}${relu ? ' with relu' : ''}`,
    attributes: { relu },
    inputs: { a: activation(...shape), b: activation(...shape) },
    outputs: { y: activation(...shape) }
  }))
)

const reshapeCases: Use[] = IMAGES.map((shape) => ({
  name: named(shape),
  attributes: {},
  inputs: { x: activation(...shape) },
  outputs: { y: activation(shape[0], shape[1] * shape[2] * shape[3]) }
}))

const globalCases: Use[] = IMAGES.map((shape) => ({
  name: named(shape),
  attributes: {},
  inputs: { x: activation(...shape) },
  outputs: { y: activation(shape[0], shape[1]) }
}))

const subsampleCases: Use[] = IMAGES.flatMap(([n, c, h, w]) =>
  [
    { stride: 2, before: 8, after: 8 },
    { stride: 2, before: 3, after: 4 },
    { stride: 1, before: 0, after: 1 },
    { stride: 3, before: 16, after: 0 }
  ].map(({ stride, before, after }) => ({
    name: `${n}x${c}x${h}x${w} every ${stride} between ${before} and ${after}`,
    attributes: { stride, before, after },
    inputs: { x: activation(n, c, h, w) },
    outputs: { y: activation(n, before + c + after, Math.ceil(h / stride), Math.ceil(w / stride)) }
  }))
)

const crossEntropyCases: Use[] = [
  [1, 2],
  [1, 10],
  [3, 7],
  [16, 10],
  [8, 100],
  [5, 70]
].flatMap(([n, k]) =>
  // Spread 60 lets exponentials under- and overflow where the largest logit is not taken off first.
  [1, 60].map((spread) => ({
    name: `${n}x${k} of spread ${spread}`,
    attributes: {},
    inputs: { logits: { ...activation(n!, k!), draw: (u: number): number => spread * (2 * u - 1) }, target: label(k!, n!) },
    outputs: { loss: wide(1), probabilities: activation(n!, k!), correct: wide(1) }
  }))
)

const squaredErrorCases: Use[] = [...FEATURES, [2, 3, 4, 5]].map((shape) => ({
  name: named(shape),
  attributes: {},
  inputs: { prediction: activation(...shape), target: activation(...shape) },
  outputs: { loss: wide(1) }
}))

export const operatorTable: readonly OperatorRow[] = [
  {
    kind: 'conv2d',
    magnitude: magnitude.absolute,
    cases: convolutionCases,
    backward: [
      { kind: 'conv2dBackwardData', inputs: ['gy', 'w'], outputs: ['gx'], magnitude: magnitude.absolute },
      { kind: 'conv2dBackwardWeights', inputs: ['x', 'gy'], outputs: ['gw', 'gb'], magnitude: magnitude.absolute }
    ]
  },
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
    kind: 'batchNorm',
    magnitude: magnitude.batchNorm,
    cases: batchNormCases(false),
    backward: [
      {
        kind: 'batchNormBackward',
        inputs: ['x', 'gamma', 'mean', 'variance', 'y', 'gy', 'gy2'],
        outputs: ['gx', 'ggamma', 'gbeta', 'gresidual'],
        magnitude: magnitude.batchNormBackward
      }
    ]
  },
  { kind: 'batchNormInference', magnitude: magnitude.batchNorm, cases: batchNormCases(true), backward: [] },
  { kind: 'foldStatistics', magnitude: magnitude.folding, cases: foldCases, backward: [] },
  {
    kind: 'relu',
    magnitude: magnitude.exact,
    cases: alike([...IMAGES, ...FEATURES], {}),
    backward: [{ kind: 'reluBackward', inputs: ['y', 'gy'], outputs: ['gx'], magnitude: magnitude.exact }]
  },
  {
    kind: 'maxPool2d',
    magnitude: magnitude.exact,
    cases: maximumCases,
    backward: [{ kind: 'maxPool2dBackward', inputs: ['position', 'gy'], outputs: ['gx'], magnitude: magnitude.absoluteGradient }]
  },
  {
    kind: 'avgPool2d',
    magnitude: magnitude.absolute,
    cases: averageCases,
    backward: [{ kind: 'avgPool2dBackward', inputs: ['gy'], outputs: ['gx'], magnitude: magnitude.absolute }]
  },
  {
    kind: 'globalAvgPool',
    magnitude: magnitude.absolute,
    cases: globalCases,
    backward: [{ kind: 'globalAvgPoolBackward', inputs: ['gy'], outputs: ['gx'], magnitude: magnitude.absolute }]
  },
  {
    kind: 'subsamplePad',
    magnitude: magnitude.exact,
    cases: subsampleCases,
    backward: [{ kind: 'subsamplePadBackward', inputs: ['gy'], outputs: ['gx'], magnitude: magnitude.exact }]
  },
  { kind: 'add', magnitude: magnitude.absolute, cases: addCases, backward: [] },
  { kind: 'reshape', magnitude: magnitude.exact, cases: reshapeCases, backward: [] },
  {
    kind: 'dropout',
    magnitude: magnitude.absolute,
    cases: [0, 0.5, 0.9].flatMap((rate) => alike([...IMAGES, ...FEATURES], { rate, stream: 3 })),
    backward: [{ kind: 'dropoutBackward', inputs: ['gy'], outputs: ['gx'], magnitude: magnitude.absolute }]
  },
  {
    kind: 'softmaxCrossEntropy',
    magnitude: magnitude.softmaxCrossEntropy,
    cases: crossEntropyCases,
    backward: [
      {
        kind: 'softmaxCrossEntropyBackward',
        inputs: ['probabilities', 'target'],
        outputs: ['glogits'],
        magnitude: magnitude.softmaxCrossEntropyBackward
      }
    ]
  },
  {
    kind: 'meanSquaredError',
    magnitude: magnitude.squaredError,
    cases: squaredErrorCases,
    backward: [
      { kind: 'meanSquaredErrorBackward', inputs: ['prediction', 'target'], outputs: ['gprediction'], magnitude: magnitude.squaredError }
    ]
  }
]
