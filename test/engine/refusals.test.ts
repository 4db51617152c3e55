import { expect } from 'chai'
import type { LoweringRequest } from '../../src/compiler/program.js'
import { engine } from '../../src/engine/native.js'
import { ArbalestError } from '../../src/errors.js'
import type { Attributes, OperatorKind } from '../../src/model/graph.js'

type Shapes = readonly (readonly number[] | null)[]

const WINDOW = { stride: [1, 1], padding: [0, 0] }
const CONVOLUTION = { ...WINDOW, groups: 1, relu: 0 }
const DEPTHWISE = { ...CONVOLUTION, groups: 16 }

/** Requests that no backend can answer. */
const refused: readonly [why: string, kind: OperatorKind, inputs: Shapes, outputs: Shapes, attributes: Attributes][] = [
  ['an input is missing', 'conv2d', [[1, 2, 5, 5], null, null], [[1, 3, 3, 3]], CONVOLUTION],
  ['y has another shape', 'conv2d', [[1, 2, 5, 5], [3, 2, 3, 3], null], [[1, 3, 4, 3]], CONVOLUTION],
  ['channels disagree', 'conv2d', [[1, 2, 5, 5], [3, 4, 3, 3], null], [[1, 3, 3, 3]], CONVOLUTION],
  ['the bias is too long', 'conv2d', [[1, 2, 5, 5], [3, 2, 3, 3], [4]], [[1, 3, 3, 3]], CONVOLUTION],
  ['the image is smaller than the kernel', 'conv2d', [[1, 2, 2, 2], [3, 2, 3, 3], null], [[1, 3, 1, 1]], CONVOLUTION],
  ['the stride is 0', 'conv2d', [[1, 2, 5, 5], [3, 2, 3, 3], null], [[1, 3, 3, 3]], { ...CONVOLUTION, stride: [0, 1] }],
  ['the stride is missing', 'conv2d', [[1, 2, 5, 5], [3, 2, 3, 3], null], [[1, 3, 3, 3]], { padding: [0, 0], groups: 1 }],
  ['y of a depthwise convolution has another shape', 'conv2d', [[1, 16, 5, 5], [16, 1, 3, 3], null], [[1, 16, 4, 3]], DEPTHWISE],
  ['the bias of one is too long', 'conv2d', [[1, 16, 5, 5], [16, 1, 3, 3], [17]], [[1, 16, 3, 3]], DEPTHWISE],
  ['its image is smaller than the kernel', 'conv2d', [[1, 16, 2, 5], [16, 1, 3, 3], null], [[1, 16, 1, 3]], DEPTHWISE],
  ['its padding is missing', 'conv2d', [[1, 16, 5, 5], [16, 1, 3, 3], null], [[1, 16, 3, 3]], { stride: [1, 1], groups: 16 }],
  [
    'its gy has another shape',
    'conv2dBackwardData',
    [
      [1, 16, 4, 3],
      [16, 1, 3, 3]
    ],
    [[1, 16, 5, 5]],
    DEPTHWISE
  ],
  [
    'its gb is too long',
    'conv2dBackwardWeights',
    [
      [1, 16, 5, 5],
      [1, 16, 3, 3]
    ],
    [[16, 1, 3, 3], [17]],
    DEPTHWISE
  ],
  ['groups do not divide', 'conv2d', [[1, 4, 5, 5], [3, 2, 3, 3], null], [[1, 3, 3, 3]], { ...CONVOLUTION, groups: 2 }],
  [
    'gy has another shape',
    'conv2dBackwardData',
    [
      [1, 3, 4, 3],
      [3, 2, 3, 3]
    ],
    [[1, 2, 5, 5]],
    CONVOLUTION
  ],
  [
    'gb is too long',
    'conv2dBackwardWeights',
    [
      [1, 2, 5, 5],
      [1, 3, 3, 3]
    ],
    [[3, 2, 3, 3], [2]],
    CONVOLUTION
  ],
  ['a dilation is 0', 'conv2d', [[1, 2, 5, 5], [3, 2, 3, 3], null], [[1, 3, 3, 3]], { ...CONVOLUTION, dilation: [0, 1] }],
  [
    'the image is smaller than a dilated kernel',
    'conv2d',
    [[1, 2, 5, 5], [3, 2, 3, 3], null],
    [[1, 3, 3, 3]],
    { ...CONVOLUTION, dilation: [3, 1] }
  ],
  ['features disagree', 'linear', [[2, 5], [3, 4], null], [[2, 3]], { relu: 0 }],
  [
    'batches disagree',
    'linearBackwardWeights',
    [
      [2, 5],
      [3, 3]
    ],
    [[3, 5], null],
    {}
  ],
  ['gamma is too short', 'batchNorm', [[2, 3, 4, 4], [2], [3], null], [[2, 3, 4, 4], [3], [3]], { epsilon: 1e-5, relu: 0 }],
  ['epsilon is 0', 'batchNorm', [[2, 3, 4, 4], [3], [3], null], [[2, 3, 4, 4], [3], [3]], { epsilon: 0, relu: 0 }],
  [
    'y is missing for its mask',
    'batchNormBackward',
    [[2, 3, 4, 4], [3], [3], [3], null, [2, 3, 4, 4], null],
    [[2, 3, 4, 4], [3], [3], null],
    { epsilon: 1e-5, relu: 1 }
  ],
  [
    'groups do not divide the channels',
    'groupNorm',
    [[2, 3, 4, 4], [3], [3], null],
    [[2, 3, 4, 4], null, null],
    { groups: 2, epsilon: 1e-5, relu: 0 }
  ],
  [
    'numbers of groups are too few',
    'groupNormBackward',
    [[2, 4, 4, 4], [4], [2, 1], [2, 2], null, [2, 4, 4, 4], null],
    [[2, 4, 4, 4], [4], [4], null],
    { groups: 2, epsilon: 1e-5, relu: 0 }
  ],
  ['the image is not as large as it becomes', 'upsample2d', [[2, 3, 4, 4]], [[2, 3, 8, 12]], { factor: [2, 2] }],
  ['a factor is 0', 'upsample2d', [[2, 3, 4, 4]], [[2, 3, 0, 8]], { factor: [0, 2] }],
  ['shapes differ', 'relu', [[2, 3]], [[3, 2]], {}],
  [
    'shapes differ',
    'add',
    [
      [2, 3],
      [2, 4]
    ],
    [[2, 3]],
    { relu: 0 }
  ],
  [
    'the padding is as large as the kernel',
    'maxPool2d',
    [[1, 1, 4, 4]],
    [[1, 1, 7, 7], null],
    { kernel: [2, 2], stride: [1, 1], padding: [2, 2] }
  ],
  ['a position does not fit into a byte', 'maxPool2d', [[1, 1, 16, 16]], [[1, 1, 1, 1], null], { ...WINDOW, kernel: [16, 16] }],
  ['channels differ', 'subsamplePad', [[1, 2, 4, 4]], [[1, 4, 2, 2]], { stride: 2, before: 1, after: 0 }],
  ['elements are lost', 'reshape', [[2, 3, 2, 2]], [[2, 11]], {}],
  ['the rate is 1', 'dropout', [[2, 3]], [[2, 3]], { rate: 1, stream: 0 }],
  ['a batch of targets is short', 'softmaxCrossEntropy', [[4, 3], [3]], [[1], null, null], {}],
  [
    'shapes differ',
    'meanSquaredError',
    [
      [4, 3],
      [4, 2]
    ],
    [[1]],
    {}
  ],
  ['an extent is 0', 'relu', [[0, 3]], [[0, 3]], {}],
  ['means are too many', 'load', [], [[2, 3, 4, 4], [2]], { padding: 0, border: 0, flip: 0, shuffled: 0, mean: [0, 0], std: [] }],
  [
    'a border has more pixels than the image',
    'load',
    [],
    [[2, 3, 4, 5], [2]],
    { padding: 4, border: 1, flip: 0, shuffled: 0, mean: [], std: [] }
  ],
  ['features have no border', 'load', [], [[2, 3], [2]], { padding: 0, border: 1, flip: 0, shuffled: 0, mean: [], std: [] }],
  ['features cannot be flipped', 'load', [], [[2, 3], [2]], { padding: 0, border: 0, flip: 1, shuffled: 0, mean: [], std: [] }]
]

const offered = (shapes: Shapes): LoweringRequest['inputs'] => shapes.map((shape) => shape && { shape, type: 'f32', layout: null })

describe('lowering refuses', () => {
  for (const { name: backend } of engine.describe().backends) {
    for (const [why, kind, inputs, outputs, attributes] of refused) {
      it(`${kind} on ${backend} where ${why}`, () => {
        const request: LoweringRequest = { kind, attributes, inputs: offered(inputs), outputs: offered(outputs), precision: 'f32' }
        expect(() => engine.lower(backend, request))
          .to.throw(ArbalestError)
          .with.property('code', 'INVALID_PROGRAM')
      })
    }

    it(`threads on ${backend} that no learner has`, () => {
      const request = { kind: 'relu', attributes: {}, inputs: offered([[2, 3]]), outputs: offered([[2, 3]]), precision: 'f32' } as const
      for (const threads of [0, -1, 1025, 0.5, 1e300, NaN])
        expect(() => engine.lower(backend, { ...request, threads }), String(threads)).to.throw(ArbalestError, 'threads')
    })
  }
})
