import type { Attributes, OperatorKind } from '../../../src/model/graph.js'
import * as magnitude from './magnitudes.js'
import { activation, classWeights, label, positive, wide, type OperatorCase, type Port } from './operator-case.js'
import {
  averageCases,
  convolutionCases,
  dilatedCases,
  narrowGroupCases,
  maximumCases,
  planeCases,
  pointwiseCases,
  smallImageCases,
  tileCases,
  unfilledCases,
  wideCases
} from './window-cases.js'

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

/** A case without its kind. */
export interface Use extends Omit<OperatorCase, 'kind'> {
  /** Ports of the backward operator alone. */
  readonly further?: Readonly<Record<string, Port | null>>
  /** One more combination of what other cases have: only `operators.slow.test.ts` runs it. */
  readonly seldom?: boolean
}

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

/** The extents of x, and the outputs: few rows and many, and more axes than two. */
const linearCases: Use[] = [
  [1, 1, 1],
  [1, 784, 10],
  [2, 7, 13],
  [3, 33, 16],
  [8, 64, 10],
  [16, 256, 128],
  [5, 70, 67],
  [4, 800, 500],
  [127, 24, 24],
  [128, 16, 16],
  [130, 33, 65],
  [257, 50, 49],
  [3, 90, 128, 96],
  [2, 2, 70, 20, 100]
].flatMap((extents) => {
  const [x, f, o] = [extents.slice(0, -1), extents.at(-2)!, extents.at(-1)!]
  return [
    { bias: true, relu: 0 },
    { bias: false, relu: 0 },
    { bias: true, relu: 1 }
  ].map(({ bias, relu }) => ({
    name: `${x.join('x')} to ${o}${bias ? ' with bias' : ''}${relu ? ' with relu' : ''}`,
    attributes: { relu },
    inputs: { x: activation(...x), w: wide(o, f), b: bias ? wide(o) : null },
    outputs: { y: activation(...x.slice(0, -1), o) }
  }))
})

/** More rows and more channels than one block of a GPU takes, and more rows than a cluster of blocks. */
const LARGE_IMAGES = [
  [4, 12, 40, 41],
  [2, 300, 6, 6],
  [1, 8, 182, 182]
] as const

const batchNormCases = (inference: boolean): Use[] =>
  [...IMAGES.slice(1), [2, 3, 1, 1], [4, 2, 6, 6], ...(inference ? [] : LARGE_IMAGES)].flatMap((shape) =>
    [
      { relu: 0, residual: false },
      { relu: 1, residual: false },
      { relu: 1, residual: true },
      { relu: 0, residual: true },
      { relu: 1, most: 0.75, residual: false },
      { relu: 1, most: 0.75, residual: true },
      { relu: 0, residual: false, epsilon: 2 }
    ].map(({ relu, most, residual, epsilon = 1e-5 }) => {
      const c = shape[1]
      const statistics: Record<string, Port> = { mean: wide(c), variance: inference ? positive(c) : wide(c) }
      const x = { ...activation(...shape), draw: (u: number): number => 3 * u + 1 }
      const skipped = residual ? activation(...shape) : null
      const large = LARGE_IMAGES.some((image) => image === shape)
      return {
        seldom: large && !(relu && residual !== (most === undefined)),
        name: `${named(shape)}${relu ? ' with relu' : ''}${most === undefined ? '' : ` up to ${most}`}${residual ? ' with residual' : ''}${epsilon === 1e-5 ? '' : ` with epsilon ${epsilon}`}`,
        attributes: { epsilon, relu, ...(most !== undefined && { most }) },
        inputs: { x, gamma: positive(c), beta: wide(c), ...(inference ? statistics : {}), residual: skipped },
        outputs: { y: activation(...shape), ...(inference ? {} : statistics) },
        // The second gradient comes with every other case.
        further: { gy2: residual === (relu === 1) ? activation(...shape) : null }
      }
    })
  )

/** Shapes of images with a number of groups, whose channels do not always fill what the layouts take together. */
const GROUPED: [readonly [number, number, number, number], number][] = [
  [[2, 3, 5, 7], 1],
  [[3, 32, 6, 6], 4],
  [[2, 3, 5, 7], 3],
  [[1, 6, 4, 4], 2],
  [[4, 2, 6, 6], 2],
  [[2, 8, 1, 1], 2],
  [[2, 64, 7, 5], 1],
  [[2, 48, 3, 3], 3],
  [[2, 40, 4, 4], 5],
  [[2, 36, 4, 4], 3],
  [[1, 160, 2, 2], 2],
  [[2, 64, 10, 10], 8],
  [[2, 64, 33, 32], 32]
]

const groupNormCases: Use[] = GROUPED.flatMap(([shape, groups], i) => {
  const [n, c] = shape
  const variants = [
    { relu: 1, residual: true },
    { relu: 0, residual: false },
    { relu: 1, residual: false },
    { relu: 0, residual: true },
    { relu: 1, most: 0.75, residual: true },
    { relu: 0, residual: false, epsilon: 2 }
  ]
  return variants.slice(0, i < 2 ? variants.length : 2).map(({ relu, most, residual, epsilon = 1e-5 }) => ({
    name: `${named(shape)} in ${groups} groups${relu ? ' with relu' : ''}${most === undefined ? '' : ` up to ${most}`}${residual ? ' with residual' : ''}${epsilon === 1e-5 ? '' : ` with epsilon ${epsilon}`}`,
    attributes: { groups, epsilon, relu, ...(most !== undefined && { most }) },
    inputs: {
      x: { ...activation(...shape), draw: (u: number): number => 3 * u + 1 },
      gamma: positive(c),
      beta: wide(c),
      residual: residual ? activation(...shape) : null
    },
    outputs: { y: activation(...shape), mean: wide(n, groups), inverse: wide(n, groups) },
    // The second gradient comes with every other case.
    further: { gy2: residual === (relu === 1) ? activation(...shape) : null }
  }))
})

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

/** From -spread to spread. */
const spread = (size: number, shape: readonly number[]): Port => ({ ...activation(...shape), draw: (u) => size * (2 * u - 1) })

const activationCases = (attributes: Attributes = {}): Use[] =>
  [...IMAGES, ...FEATURES, [2, 5, 6]].flatMap((shape, i) =>
    // Small numbers, and numbers so large that exponentials would overflow.
    [1, 12, 200].map((size, k) => ({
      seldom: k !== i % 3,
      name: `${named(shape)} within ${size}`,
      attributes,
      inputs: { x: spread(size, shape) },
      outputs: { y: activation(...shape) }
    }))
  )

const multiplyCases: Use[] = [...IMAGES, ...FEATURES].map((shape) => ({
  name: named(shape),
  attributes: {},
  inputs: { a: activation(...shape), b: activation(...shape) },
  outputs: { y: activation(...shape) }
}))

const scaleCases: Use[] = [...IMAGES, ...LARGE_IMAGES].map((shape) => ({
  name: named(shape),
  attributes: {},
  inputs: { x: activation(...shape), factors: activation(...shape.slice(0, 2)) },
  outputs: { y: activation(...shape) }
}))

/** With both numbers, and with one of them. */
const affineCases = (...numbers: readonly ('scale' | 'shift')[]): Use[] =>
  [...IMAGES, ...LARGE_IMAGES].map((shape, i) => ({
    name: `${named(shape)} ${numbers.join(' and ')}`,
    attributes: {},
    inputs: {
      x: activation(...shape),
      ...Object.fromEntries(
        (['scale', 'shift'] as const).map((name) => [
          name,
          numbers.includes(name) ? wide(...(i % 2 ? [shape[1], 1, 1] : [shape[1]])) : null
        ])
      )
    },
    outputs: { y: activation(...shape) }
  }))

/** Channels of the parts: whole blocks, parts of blocks, single ones; of images, features and sequences. */
const concatCases = (...lists: readonly (readonly number[])[]): Use[] =>
  lists.flatMap((channels) => {
    const whole = channels.reduce((sum, each) => sum + each, 0)
    const use = (of: string, shape: (channels: number) => readonly number[]): Use => ({
      name: `${channels.join('+')} channels of ${of}`,
      attributes: { channels },
      inputs: Object.fromEntries(channels.map((each, i) => ['abcd'[i]!, activation(...shape(each))])),
      outputs: { y: activation(...shape(whole)) }
    })
    return [
      ...[[], [1, 1], [3, 5], [8, 2]].map((pixels) => use(named(pixels) || 'features', (each) => [2, each, ...pixels])),
      use('5 positions', (each) => [2, 5, each])
    ]
  })

const responseCases: Use[] = IMAGES.flatMap((shape) =>
  [
    { size: 5, alpha: 1e-4, beta: 0.75, k: 2 },
    { size: 4, alpha: 2, beta: 0.5, k: 1 },
    { size: 1, alpha: 1, beta: 1, k: 0.5 },
    { size: 9, alpha: 0.7, beta: 1.25, k: 3 }
  ].map((attributes) => ({
    name: `${named(shape)} ${JSON.stringify(attributes)}`,
    attributes,
    inputs: { x: spread(3, shape) },
    outputs: { y: activation(...shape) }
  }))
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

const upsampleCases: Use[] = IMAGES.flatMap(([n, c, h, w]) =>
  [
    [2, 2],
    [3, 1],
    [1, 2]
  ].map(([rows, columns]) => ({
    name: `${n}x${c}x${h}x${w} times ${rows}x${columns}`,
    attributes: { factor: [rows!, columns!] },
    inputs: { x: activation(n, c, h, w) },
    outputs: { y: activation(n, c, h * rows!, w * columns!) }
  }))
)

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
  [
    { size: 1, attributes: {} },
    { size: 60, attributes: {} },
    { size: 1, attributes: { smoothing: 0.1, top: 5 } },
    { size: 20, attributes: { smoothing: 0.9, top: 1 } },
    { size: 3, attributes: { weights: classWeights(k!) } },
    { size: 1, attributes: { smoothing: 0.3, weights: classWeights(k!) } }
  ].map(({ size, attributes }) => ({
    name: `${n}x${k} of spread ${size} ${JSON.stringify({ ...attributes, ...('weights' in attributes && { weights: k }) })}`,
    attributes,
    inputs: { logits: spread(size, [n!, k!]), target: label(k!, n!) },
    outputs: {
      loss: wide(1),
      differences: activation(n!, k!),
      correct: wide(1),
      ...('top' in attributes && { amongTop: wide(1) })
    }
  }))
)

/** Logits on a coarse grid: many are equal, and the first of equals comes first. */
const tiedCrossEntropyCases: Use[] = [1, 2, 5].map((top) => ({
  name: `40x6 with ties, top ${top}`,
  attributes: { top },
  inputs: { logits: { ...activation(40, 6), draw: (u) => Math.floor(3 * u) }, target: label(6, 40) },
  outputs: { loss: wide(1), differences: activation(40, 6), correct: wide(1), amongTop: wide(1) }
}))

const binaryCases: Use[] = [[7], ...FEATURES, [2, 3, 4, 5]].flatMap((shape) =>
  [
    { size: 2, soft: true },
    { size: 2, soft: false },
    { size: 200, soft: false }
  ].map(({ size, soft }) => ({
    name: `${named(shape)} within ${size}${soft ? ', soft targets' : ''}`,
    attributes: {},
    inputs: { logits: spread(size, shape), target: { ...activation(...shape), draw: (u: number) => (soft ? u : Math.round(u)) } },
    outputs: { loss: wide(1), correct: wide(1) }
  }))
)

const weightedBinaryCases: Use[] = [
  ...[
    [3, 17],
    [2, 784],
    [2, 3, 5]
  ].map((shape) => ({ shape, labels: shape.at(-1)! })),
  { shape: [2, 3, 4, 5], labels: 3 },
  { shape: [3, 1, 9, 7], labels: 1 }
].map(({ shape, labels }) => ({
  name: `${named(shape)}, weighted`,
  attributes: { weights: labels === 1 ? [3] : classWeights(labels) },
  inputs: { logits: spread(20, shape), target: { ...activation(...shape), draw: (u: number) => u } },
  outputs: { loss: wide(1), correct: wide(1) }
}))

const softTargetCases: Use[] = [
  [1, 2],
  [3, 7],
  [16, 10],
  [5, 300]
].flatMap(([n, k]) =>
  [
    { size: 1, attributes: {} },
    { size: 60, attributes: { smoothing: 0.1 } },
    { size: 3, attributes: { smoothing: 0.3, weights: classWeights(k!) } }
  ].map(({ size, attributes }) => ({
    name: `${n}x${k} of spread ${size} ${JSON.stringify({ ...attributes, ...('weights' in attributes && { weights: k }) })}`,
    attributes,
    // Half of the classes have no share.
    inputs: { logits: spread(size, [n!, k!]), target: { ...activation(n!, k!), draw: (u: number) => Math.max(0, 2 * u - 1) } },
    outputs: { loss: wide(1), gradient: activation(n!, k!), correct: wide(1) }
  }))
)

const squaredErrorCases: Use[] = [...FEATURES, [2, 3, 4, 5], [3, 17_000]].map((shape) => ({
  name: named(shape),
  attributes: {},
  inputs: { prediction: activation(...shape), target: activation(...shape) },
  outputs: { loss: wide(1) }
}))

export const operatorTable: readonly OperatorRow[] = [
  {
    kind: 'conv2d',
    magnitude: magnitude.absolute,
    cases: [
      ...convolutionCases,
      ...dilatedCases,
      ...narrowGroupCases,
      ...unfilledCases,
      ...planeCases,
      ...tileCases,
      ...wideCases,
      ...smallImageCases,
      ...pointwiseCases
    ],
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
  {
    kind: 'groupNorm',
    magnitude: magnitude.groupNorm,
    cases: groupNormCases,
    backward: [
      ['gx', 'ggamma', 'gbeta', 'gresidual'],
      ['none', 'ggamma', 'gbeta']
    ].map((outputs) => ({
      kind: 'groupNormBackward',
      inputs: ['x', 'gamma', 'mean', 'inverse', 'y', 'gy', 'gy2'],
      outputs,
      magnitude: magnitude.groupNormBackward
    }))
  },
  { kind: 'foldStatistics', magnitude: magnitude.folding, cases: foldCases, backward: [] },
  {
    kind: 'relu',
    magnitude: magnitude.exact,
    cases: alike([...IMAGES, ...FEATURES], {}),
    backward: [{ kind: 'reluBackward', inputs: ['y', 'gy'], outputs: ['gx'], magnitude: magnitude.exact }]
  },
  {
    kind: 'sigmoid',
    magnitude: magnitude.relative,
    cases: activationCases(),
    backward: [{ kind: 'sigmoidBackward', inputs: ['y', 'gy'], outputs: ['gx'], magnitude: magnitude.slopeOfOutput }]
  },
  {
    kind: 'tanh',
    magnitude: magnitude.relative,
    cases: activationCases(),
    backward: [{ kind: 'tanhBackward', inputs: ['y', 'gy'], outputs: ['gx'], magnitude: magnitude.slopeOfOutput }]
  },
  {
    kind: 'leakyRelu',
    magnitude: magnitude.relative,
    cases: [0, 0.01, 0.3].flatMap((slope) => activationCases({ slope })),
    backward: [{ kind: 'leakyReluBackward', inputs: ['y', 'gy'], outputs: ['gx'], magnitude: magnitude.relative }]
  },
  {
    kind: 'clamp',
    magnitude: magnitude.exact,
    cases: [
      { least: 0, most: 6 },
      { least: -1, most: 0.5 },
      { least: 0.25, most: 2 }
    ].flatMap((bounds) => activationCases(bounds)),
    backward: [{ kind: 'clampBackward', inputs: ['y', 'gy'], outputs: ['gx'], magnitude: magnitude.exact }]
  },
  {
    kind: 'hardSigmoid',
    magnitude: magnitude.relative,
    cases: activationCases(),
    backward: [{ kind: 'hardSigmoidBackward', inputs: ['x', 'gy'], outputs: ['gx'], magnitude: magnitude.absoluteGradient }]
  },
  {
    kind: 'hardSwish',
    magnitude: magnitude.relative,
    cases: activationCases(),
    backward: [{ kind: 'hardSwishBackward', inputs: ['x', 'gy'], outputs: ['gx'], magnitude: magnitude.slopeOfInput }]
  },
  {
    kind: 'gelu',
    magnitude: magnitude.relative,
    cases: [0, 1].flatMap((approximate) => activationCases({ approximate })),
    backward: [{ kind: 'geluBackward', inputs: ['x', 'gy'], outputs: ['gx'], magnitude: magnitude.slopeOfInput }]
  },
  {
    kind: 'silu',
    magnitude: magnitude.relative,
    cases: activationCases(),
    backward: [{ kind: 'siluBackward', inputs: ['x', 'gy'], outputs: ['gx'], magnitude: magnitude.slopeOfInput }]
  },
  {
    kind: 'localResponseNorm',
    magnitude: magnitude.relative,
    cases: responseCases,
    backward: [{ kind: 'localResponseNormBackward', inputs: ['x', 'gy'], outputs: ['gx'], magnitude: magnitude.localResponseNormBackward }]
  },
  {
    kind: 'concat',
    magnitude: magnitude.exact,
    cases: concatCases([8, 16], [3, 5], [17, 1], [16, 70]),
    backward: [{ kind: 'concatBackward', inputs: ['gy'], outputs: ['ga', 'gb'], magnitude: magnitude.exact }]
  },
  {
    kind: 'concat',
    magnitude: magnitude.exact,
    cases: concatCases([16, 8, 32, 8], [1, 2, 3, 4]),
    // One of them wants no gradient.
    backward: [{ kind: 'concatBackward', inputs: ['gy'], outputs: ['ga', 'none', 'gc', 'gd'], magnitude: magnitude.exact }]
  },
  { kind: 'multiply', magnitude: magnitude.relative, cases: multiplyCases, backward: [] },
  {
    kind: 'scaleChannels',
    magnitude: magnitude.relative,
    cases: scaleCases,
    backward: [
      { kind: 'scaleChannelsBackward', inputs: ['x', 'factors', 'gy'], outputs: ['gx', 'gfactors'], magnitude: magnitude.absolute },
      { kind: 'scaleChannelsBackward', inputs: ['x', 'factors', 'gy'], outputs: ['none', 'gfactors'], magnitude: magnitude.absolute },
      { kind: 'scaleChannelsBackward', inputs: ['x', 'factors', 'gy'], outputs: ['gx', 'none'], magnitude: magnitude.absolute }
    ]
  },
  {
    kind: 'channelAffine',
    magnitude: magnitude.absolute,
    cases: affineCases('scale', 'shift'),
    backward: [
      {
        kind: 'channelAffineBackward',
        inputs: ['x', 'scale', 'gy'],
        outputs: ['gx', 'gscale', 'gshift'],
        magnitude: magnitude.absolute
      }
    ]
  },
  {
    kind: 'channelAffine',
    magnitude: magnitude.absolute,
    cases: affineCases('scale'),
    backward: [
      { kind: 'channelAffineBackward', inputs: ['x', 'scale', 'gy'], outputs: ['gx', 'gscale', 'none'], magnitude: magnitude.absolute },
      { kind: 'channelAffineBackward', inputs: ['x', 'scale', 'gy'], outputs: ['none', 'gscale', 'absent'], magnitude: magnitude.absolute },
      { kind: 'channelAffineBackward', inputs: ['none', 'scale', 'gy'], outputs: ['gx', 'none', 'absent'], magnitude: magnitude.absolute }
    ]
  },
  {
    kind: 'channelAffine',
    magnitude: magnitude.absolute,
    cases: affineCases('shift'),
    backward: [
      {
        kind: 'channelAffineBackward',
        inputs: ['none', 'absent', 'gy'],
        outputs: ['none', 'absent', 'gshift'],
        magnitude: magnitude.absolute
      }
    ]
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
  {
    kind: 'upsample2d',
    magnitude: magnitude.exact,
    cases: upsampleCases,
    backward: [{ kind: 'upsample2dBackward', inputs: ['gy'], outputs: ['gx'], magnitude: magnitude.absolute }]
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
    kind: 'stochasticDepth',
    magnitude: magnitude.absolute,
    cases: [0, 0.5, 0.9].flatMap((rate) => alike([...IMAGES, ...FEATURES], { rate, stream: 3 })),
    backward: []
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
  { kind: 'softmaxCrossEntropy', magnitude: magnitude.softmaxCrossEntropy, cases: tiedCrossEntropyCases, backward: [] },
  { kind: 'softTargetCrossEntropy', magnitude: magnitude.softTargetCrossEntropy, cases: softTargetCases, backward: [] },
  {
    kind: 'binaryCrossEntropy',
    magnitude: magnitude.binaryCrossEntropy,
    cases: [...binaryCases, ...weightedBinaryCases],
    backward: [
      { kind: 'binaryCrossEntropyBackward', inputs: ['logits', 'target'], outputs: ['glogits'], magnitude: magnitude.binaryCrossEntropy }
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
