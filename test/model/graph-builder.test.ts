import { expect } from 'chai'
import {
  type BuildOptions,
  type LoadOptions,
  type Mode,
  buildGraph,
  parameterCount,
  predictionGraph
} from '../../src/model/graph-builder.js'
import { parametersOf, sameShape, type Graph, type Value } from '../../src/model/graph.js'
import {
  avgPool2d,
  batchNorm2d,
  clamp,
  concat,
  conv2d,
  convTranspose2d,
  defineModel,
  dropout,
  flatten,
  globalAvgPool,
  groupNorm,
  gru,
  imageOfPositions,
  imagePositions,
  layerNorm,
  layerNorm2d,
  layerScale,
  leakyRelu,
  linear,
  localResponseNorm,
  lstm,
  maxPool2d,
  relu,
  residual,
  subsamplePad,
  takePosition,
  upsample2d
} from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import type { Model } from '../../src/model/model.js'
import { loadOperators } from '../../src/model/composed.js'
import { explain } from '../../src/run/explain/explain.js'
import { refused } from '../support/codes.js'
import { thrown } from '../support/thrown.js'

const image = (layers: Layer[]) => defineModel({ name: 'test', input: [4, 9, 7], layers })
const ending = [globalAvgPool(), linear(3)]
const kinds = (graph: Graph): string[] => graph.operators.map(({ kind }) => kind)
const persistentOf = ({ values }: Graph): Pick<Value, 'name' | 'shape'>[] =>
  values.filter(({ role }) => role === 'parameter' || role === 'statistic').map(({ name, shape }) => ({ name, shape }))
/** A layer by hand. */
const kind = (of: string, name?: string): Layer => ({ kind: of, ...(name !== undefined && { name }) }) as unknown as Layer
const inside: Layer[] = []
const endless = residual({ body: inside })
inside.push(endless)
const names = (graph: Graph): string[] => parametersOf(graph).map(({ name }) => name)

describe('buildGraph', () => {
  const model = image([
    conv2d(6, 3, { stride: [2, 1], padding: 1, groups: 2 }),
    batchNorm2d(),
    relu(),
    maxPool2d(2),
    dropout(0.5),
    ...ending
  ])
  const build = (mode: Mode): Graph => buildGraph(model, { batch: 2, mode })
  const kindsOf = (mode: Mode): string => kinds(build(mode)).join(' ')

  it('gives each mode its operators', () => {
    expect(kindsOf('train')).to.equal('load conv2d batchNorm relu maxPool2d dropout globalAvgPool linear softmaxCrossEntropy')
    expect(kindsOf('statistics')).to.equal('load conv2d batchNorm relu maxPool2d dropout globalAvgPool linear foldStatistics')
    expect(kindsOf('evaluate')).to.equal('load conv2d batchNormInference relu maxPool2d globalAvgPool linear softmaxCrossEntropy')
    expect(kindsOf('predict')).to.equal('conv2d batchNormInference relu maxPool2d globalAvgPool linear')
  })

  it('infers shapes, batch first', () => {
    const { values } = buildGraph(model, { batch: 2, mode: 'train' })
    const shape = (name: string): readonly number[] => values.find((value) => value.name === name)!.shape
    expect(shape('input')).to.deep.equal([2, 4, 9, 7])
    expect(shape('conv1')).to.deep.equal([2, 6, 5, 7])
    expect(shape('conv1.weight')).to.deep.equal([6, 2, 3, 3])
    expect(shape('pool1')).to.deep.equal([2, 6, 2, 3])
    expect(shape('pool1.position')).to.deep.equal([2, 6, 2, 3])
    expect(shape('linear1.weight')).to.deep.equal([3, 6])
    expect(shape('target')).to.deep.equal([2])
  })

  it('names parameters by layer, counting where a layer has no name', () => {
    const layers = [
      conv2d(4, 1),
      conv2d(4, 1, { name: 'conv2', bias: false }),
      conv2d(4, 1),
      residual({ name: 'layer1.0', body: [conv2d(8, 1), batchNorm2d()], shortcut: [conv2d(8, 1, { name: '0', bias: false })] }),
      ...ending
    ]
    expect(names(buildGraph(image(layers), { batch: 2, mode: 'train' }))).to.deep.equal([
      'conv1.weight',
      'conv1.bias',
      'conv2.weight',
      'conv3.weight',
      'conv3.bias',
      'layer1.0.conv1.weight',
      'layer1.0.conv1.bias',
      'layer1.0.bn1.weight',
      'layer1.0.bn1.bias',
      'layer1.0.shortcut.0.weight',
      'linear1.weight',
      'linear1.bias'
    ])
  })

  it('has the same parameters and statistics in every mode', () => {
    const train = persistentOf(build('train'))
    expect(train.map(({ name }) => name)).to.include.members(['bn1.count', 'bn1.runningMean', 'bn1.runningVariance'])
    for (const mode of ['statistics', 'evaluate', 'predict'] as const) expect(persistentOf(build(mode))).to.deep.equal(train)
  })

  it('names what stays readable', () => {
    const statistics = ['bn1.count', 'bn1.runningMean', 'bn1.runningVariance']
    expect(Object.keys(build('train').named)).to.have.members(['input', 'target', 'output', 'loss', 'correct', ...statistics])
    expect(Object.keys(build('statistics').named)).to.have.members(['input', 'target', ...statistics])
    expect(Object.keys(build('predict').named)).to.have.members(['input', 'output', ...statistics])
  })

  it('augments in training only, and evaluates in order', () => {
    const load: LoadOptions = { padding: 2, border: 'reflect', flip: 'alternate', cutout: 3, mean: [0.5], std: [0.2], shuffled: true }
    const attributes = (mode: 'train' | 'statistics' | 'evaluate') => buildGraph(model, { batch: 2, mode, load }).operators[0]!.attributes
    expect(attributes('train')).to.deep.equal({ padding: 2, border: 1, flip: 2, cutout: 3, mean: [0.5], std: [0.2], shuffled: 1 })
    expect(attributes('statistics')).to.deep.equal(attributes('train'))
    expect(attributes('evaluate')).to.deep.equal({ padding: 0, border: 0, flip: 0, mean: [0.5], std: [0.2], shuffled: 0 })
  })

  it('takes shares of classes as targets where images are mixed, in training only', () => {
    const load: LoadOptions = { mixup: 0.4, cutmix: 1 }
    const mixed = (mode: 'train' | 'statistics' | 'evaluate') => buildGraph(model, { batch: 2, mode, load })
    const targetOf = ({ values, named }: ReturnType<typeof mixed>) => values[named.target!]!
    for (const mode of ['train', 'statistics'] as const) {
      expect(mixed(mode).operators[0]!.attributes).to.include({ mixup: 0.4, cutmix: 1 })
      expect(targetOf(mixed(mode))).to.deep.include({ type: 'float', shape: [2, targetOf(mixed(mode)).shape.at(-1)] })
    }
    expect(mixed('evaluate').operators[0]!.attributes).not.to.have.any.keys('mixup', 'cutmix')
    expect(targetOf(mixed('evaluate'))).to.deep.include({ type: 'integer', shape: [2] })
    const refuses = (of: Model, options: BuildOptions, words: string): void => {
      expect(() => buildGraph(of, options))
        .to.throw(words)
        .with.property('code', 'INVALID_OPTION')
    }
    refuses(model, { batch: 1, mode: 'train', load }, 'batch: received 1; use at least 2, or leave mixup and cutmix out')
    refuses(model, { batch: 2, mode: 'train', load: { cutmix: 3 } }, 'load.cutmix: received 3')
    refuses(defineModel({ name: 'line', input: [3], layers: [linear(2)] }), { batch: 2, mode: 'train', load }, 'only images (C, H, W)')
    const pixels = defineModel({ name: 'pixels', input: [1, 4, 4], layers: [conv2d(2, 1), imagePositions()] })
    refuses(pixels, { batch: 2, mode: 'train', load }, 'leave mixup and cutmix out')
  })

  it('takes targets of the output’s shape for the mean squared error', () => {
    const regression = defineModel({ name: 'line', input: [3], layers: [linear(2)], loss: 'meanSquaredError' })
    const { values, named } = buildGraph(regression, { batch: 4, mode: 'train' })
    expect(values[named.target!]).to.include({ type: 'float' }).and.to.have.deep.property('shape', [4, 2])
    expect(named).not.to.have.property('correct')
  })

  it('has the parameters of recurrent layers as PyTorch has them', () => {
    const layers = [lstm(3), concat([[gru(2)], [gru(4, { reverse: true, bias: false })]]), takePosition(-1)]
    const graph = buildGraph(defineModel({ name: 'series', input: [5, 7], layers }), { batch: 2, mode: 'train' })
    expect(parametersOf(graph).map(({ name, shape }) => [name, ...shape].join(' '))).to.deep.equal([
      'lstm1.weight_ih_l0 12 7',
      'lstm1.weight_hh_l0 12 3',
      'lstm1.bias_ih_l0 12',
      'lstm1.bias_hh_l0 12',
      'concat1.0.gru1.weight_ih_l0 6 3',
      'concat1.0.gru1.weight_hh_l0 6 2',
      'concat1.0.gru1.bias_ih_l0 6',
      'concat1.0.gru1.bias_hh_l0 6',
      'concat1.1.gru1.weight_ih_l0 12 3',
      'concat1.1.gru1.weight_hh_l0 12 4'
    ])
    expect(graph.values[graph.named['output']!]!.shape).to.deep.equal([2, 6])
    const deep = defineModel({ name: 'series', input: [5, 7], layers: [gru(2, { layers: 2, bidirectional: true, bias: false })] })
    const all = buildGraph(deep, { batch: 2, mode: 'train' })
    expect(parametersOf(all).map(({ name, shape }) => [name, ...shape].join(' '))).to.deep.equal([
      'gru1.weight_ih_l0 6 7',
      'gru1.weight_hh_l0 6 2',
      'gru1.weight_ih_l0_reverse 6 7',
      'gru1.weight_hh_l0_reverse 6 2',
      'gru1.weight_ih_l1 6 4',
      'gru1.weight_hh_l1 6 2',
      'gru1.weight_ih_l1_reverse 6 4',
      'gru1.weight_hh_l1_reverse 6 2'
    ])
    expect(all.values[all.named['output']!]!.shape).to.deep.equal([2, 5, 4])
    // As torch.nn.LSTM: all uniform within one over the root of its units.
    for (const { initialiser } of parametersOf(graph).slice(0, 4))
      expect(initialiser).to.deep.equal({ kind: 'uniform', bound: 1 / Math.sqrt(3) })
  })

  it('refuses dropout between recurrent layers where there is one, and fractions that are none', () => {
    const faultOf = (options: object) =>
      thrown(() => buildGraph(defineModel({ name: 'series', input: [5, 7], layers: [lstm(3, options)] }), { batch: 2, mode: 'train' }))
        .message
    expect(faultOf({ dropout: 0.1 })).to.include('dropout: received 0.1; leave it out: it is between two layers')
    expect(faultOf({ layers: 2, dropout: 1 })).to.include('dropout: received 1; use a number from 0 to less than 1')
  })

  it('begins recurrent layers with the weights and biases that they are told', () => {
    const one = { kind: 'constant', value: 1 } as const
    const layers = [lstm(3, { initialiser: 'xavierUniform', biasInitialiser: one }), gru(2, { biasInitialiser: one })]
    const graph = buildGraph(defineModel({ name: 'series', input: [5, 7], layers }), { batch: 2, mode: 'train' })
    const [first, second] = [0, 4].map((from) =>
      parametersOf(graph)
        .slice(from, from + 4)
        .map(({ initialiser }) => initialiser)
    )
    const xavier = (columns: number) => ({ kind: 'uniform', bound: Math.sqrt(3) * Math.sqrt(2 / (columns + 12)) })
    expect(first).to.deep.equal([xavier(7), xavier(3), one, one])
    const usual = { kind: 'uniform', bound: 1 / Math.sqrt(2) }
    expect(second).to.deep.equal([usual, usual, one, one])
  })

  it('counts parameters', () => {
    expect(parameterCount(model)).to.equal(6 * 2 * 9 + 6 + 2 * 6 + 3 * 6 + 3)
  })
})

describe('a model that cannot be', () => {
  const wrong: readonly [string, Layer[], string, string][] = [
    [
      'a linear layer on an image',
      [linear(3)],
      'SHAPE_MISMATCH',
      'layer linear1: received input (4, 9, 7); it takes features (F) or (T, F): put flatten before it'
    ],
    ['a convolution after flatten', [flatten(), conv2d(2, 3)], 'SHAPE_MISMATCH', 'layer conv1: received input (252)'],
    ['a kernel larger than its input', [conv2d(2, [3, 8])], 'SHAPE_MISMATCH', 'layer conv1: received input (4, 9, 7); its kernel (3, 8)'],
    [
      'groups that do not divide the channels',
      [conv2d(6, 1, { groups: 3 })],
      'SHAPE_MISMATCH',
      'layer conv1: received input (4, 9, 7); its 3 groups'
    ],
    ['groups that do not divide the filters', [conv2d(5, 1, { groups: 2 })], 'INVALID_MODEL', 'layer conv1: groups: received 2'],
    [
      'a dilated kernel that does not fit',
      [conv2d(1, 3, { dilation: 8 })],
      'SHAPE_MISMATCH',
      'its kernel (3, 3) with dilation (8, 8) does not fit: use a smaller kernel or more padding'
    ],
    ['no dilation', [conv2d(1, 3, { dilation: 0 })], 'INVALID_MODEL', 'layer conv1: dilation: received 0'],
    ['no filters', [conv2d(0, 1)], 'INVALID_MODEL', 'layer conv1: filters: received 0; use a whole number of at least 1'],
    ['half a stride', [maxPool2d(2, { stride: 0.5 })], 'INVALID_MODEL', 'layer pool1: stride: received 0.5'],
    ['padding beyond the kernel', [avgPool2d(3, { padding: 2 })], 'INVALID_MODEL', 'layer pool1: padding: received 2'],
    ['a window without positions', [maxPool2d(16, { padding: 8 })], 'INVALID_MODEL', 'layer pool1: kernel: received 16'],
    ['a rate of 1', [dropout(1)], 'INVALID_MODEL', 'layer dropout1: rate: received 1'],
    [
      'groups that do not divide the channels',
      [conv2d(3, 1), groupNorm(2)],
      'INVALID_MODEL',
      'layer gn1: groups: received 2; use a divisor of its 3 channels'
    ],
    ['no groups', [groupNorm(0)], 'INVALID_MODEL', 'layer gn1: groups: received 0; use a whole number of at least 1'],
    [
      'groups of one value',
      [conv2d(3, 1), globalAvgPool({ keepAxes: true }), groupNorm(3)],
      'SHAPE_MISMATCH',
      'layer gn1: received input (3, 1, 1); one value a group has no variance: use fewer groups'
    ],
    ['group norm of features', [flatten(), groupNorm(1)], 'SHAPE_MISMATCH', 'layer gn1: received input'],
    [
      'an image that becomes too large',
      [upsample2d([2, 1025])],
      'INVALID_MODEL',
      'layer upsample1: factor: received [2,1025]; use at most 1024'
    ],
    ['a recurrent layer on an image', [lstm(3)], 'SHAPE_MISMATCH', 'layer lstm1: received input (4, 9, 7); it takes a sequence (T, F)'],
    [
      'both ways and one',
      [imagePositions(), gru(2, { bidirectional: true, reverse: true })],
      'INVALID_MODEL',
      'layer gru1: reverse: received true; leave it out'
    ],
    [
      'more padding behind than the stride',
      [convTranspose2d(2, 3, { stride: 2, outputPadding: 2 })],
      'INVALID_MODEL',
      'layer convTranspose1: outputPadding: received 2; use less than the stride'
    ],
    [
      'nothing left of the image',
      [convTranspose2d(2, 1, { padding: 5 })],
      'SHAPE_MISMATCH',
      'layer convTranspose1: received input (4, 9, 7); its padding cuts the whole image off'
    ],
    ['groups that do not divide', [convTranspose2d(6, 3, { groups: 3 })], 'SHAPE_MISMATCH', 'its 3 groups must divide the channels'],
    [
      'an image of other positions',
      [imagePositions(), imageOfPositions(8, 8)],
      'SHAPE_MISMATCH',
      'its image of 8 x 8 pixels needs 64 positions'
    ],
    ['a scale of features', [flatten(), layerScale()], 'SHAPE_MISMATCH', 'layer scale1: received input (252); it takes images'],
    ['a scale that is no number', [layerScale({ initial: NaN })], 'INVALID_MODEL', 'layer scale1: initial: received NaN'],
    ['a norm of the pixels of features', [flatten(), layerNorm2d()], 'SHAPE_MISMATCH', 'use layerNorm for features and sequences'],
    ['no layers', [imagePositions(), gru(2, { layers: 0 })], 'INVALID_MODEL', 'layer gru1: layers: received 0'],
    ['no units', [imagePositions(), gru(0)], 'INVALID_MODEL', 'layer gru1: features: received 0; use a whole number of at least 1'],
    [
      'a direction that is none',
      [imagePositions(), lstm(2, { reverse: 'yes' as unknown as boolean })],
      'INVALID_MODEL',
      'layer lstm1: reverse: received "yes"'
    ],
    [
      'padding of what is no text',
      [imagePositions(), gru(2, { padding: 0 })],
      'INVALID_MODEL',
      "layer gru1: padding: received 0; leave it out: the model's input is not 63 tokens"
    ],
    [
      'biases of a kind that has a fan',
      [imagePositions(), lstm(2, { biasInitialiser: 'heNormal' })],
      'INVALID_MODEL',
      'layer lstm1: biasInitialiser: received "heNormal"; it has no fan'
    ],
    [
      'a dilation beyond all images',
      [conv2d(2, 3, { dilation: 2 ** 31 })],
      'INVALID_MODEL',
      'dilation: received 2147483648; use at most 2147483647'
    ],
    [
      'a position before the first',
      [imagePositions(), takePosition(-64)],
      'INVALID_MODEL',
      'layer position1: position: received -64; use one of its 63 positions, counted from 0, or from -1 backwards'
    ],
    [
      'padding before a position that all texts have',
      [imagePositions(), takePosition(2, { padding: 0 })],
      'INVALID_MODEL',
      'layer position1: padding: received 0; leave it out: a position that is counted from 0'
    ],
    ['half a position', [imagePositions(), takePosition(0.5)], 'INVALID_MODEL', 'layer position1: position: received 0.5; use a number'],
    [
      'branches of two lengths',
      [concat([[imagePositions(), takePosition(0)], [imagePositions()]])],
      'SHAPE_MISMATCH',
      'its branches give (4), (63, 4): only channels of images (C, H, W) or features of (F) and (T, F) may differ'
    ],
    ['half a pixel', [upsample2d(0.5)], 'INVALID_MODEL', 'layer upsample1: factor: received 0.5'],
    ['a negative epsilon', [batchNorm2d({ epsilon: -1 })], 'INVALID_MODEL', 'layer bn1: epsilon: received -1'],
    [
      'an epsilon that is 0 in a kernel',
      [flatten(), layerNorm({ epsilon: 1e-38 })],
      'INVALID_MODEL',
      'layer norm1: epsilon: received 1e-38; use a number of at least 1e-37'
    ],
    ['an empty body', [residual({ body: [] })], 'INVALID_MODEL', 'layer block1: body: received []'],
    [
      'branches of two shapes',
      [residual({ body: [conv2d(5, 1)] })],
      'SHAPE_MISMATCH',
      'layer block1: received input (4, 9, 7); its body gives (5, 9, 7) and its shortcut (4, 9, 7)'
    ],
    ['an error inside a body', [residual({ name: 'r', body: [linear(2)] })], 'SHAPE_MISMATCH', 'layer r.linear1: received input (4, 9, 7)'],
    ['no stride', [subsamplePad(0, 1, 1)], 'INVALID_MODEL', 'layer subsample1: stride: received 0'],
    ['the same name twice', [conv2d(2, 1, { name: 'a' }), relu({ name: 'a' })], 'INVALID_MODEL', 'layer a: two layers have this name'],
    ['a name that is taken', [relu({ name: 'input' })], 'INVALID_MODEL', 'received input twice'],
    [
      'a kind that does not exist',
      [{ kind: 'attention' } as unknown as Layer],
      'INVALID_MODEL',
      'model test: layers.0.kind: received "attention"; use one of avgPool2d, batchNorm2d, causalSelfAttention, clamp, classToken, composed, concat, conv2d, convTranspose2d, dropout'
    ],
    ['a named layer of such a kind', [flatten(), kind('softmax', 'last')], 'INVALID_MODEL', 'layers.1.kind: received "softmax"'],
    ['a kind that every object has', [kind('constructor')], 'INVALID_MODEL', 'layers.0.kind: received "constructor"'],
    ['a layer that was left out', [undefined as unknown as Layer], 'INVALID_MODEL', 'layers.0: received undefined; use a layer'],
    ['a hole in the list', Array<Layer>(1), 'INVALID_MODEL', 'layers.0: received undefined'],
    [
      'a list that was not spread',
      [[flatten()] as unknown as Layer],
      'INVALID_MODEL',
      'it is a list of layers: put them into the outer list'
    ],
    ['a block of nothing', [residual({} as { body: Layer[] })], 'INVALID_MODEL', 'layers.0.body: received undefined; give it a list'],
    [
      'a layer in the place of a list',
      [residual({ body: [], shortcut: conv2d(4, 1) as unknown as Layer[] })],
      'INVALID_MODEL',
      'layers.0.shortcut: received {"kind":"conv2d"'
    ],
    [
      'no layer, deep inside',
      [concat([[residual({ body: [null as unknown as Layer] })]])],
      'INVALID_MODEL',
      'layers.0.branches.0.0.body.0:'
    ],
    ['no branches', [concat(5 as unknown as Layer[][])], 'INVALID_MODEL', 'layers.0.branches: received 5'],
    ['a block that holds itself', [endless], 'INVALID_MODEL', 'blocks within one another'],
    [
      'no initialiser',
      [conv2d(1, 1, { initialiser: null as unknown as 'heNormal' })],
      'INVALID_MODEL',
      'layer conv1: initialiser: received null'
    ],
    ['a rate as text', [dropout('0.5' as unknown as number)], 'INVALID_MODEL', 'layer dropout1: rate: received "0.5"; use a number from 0'],
    ['an epsilon as text', [batchNorm2d({ epsilon: '1' as unknown as number })], 'INVALID_MODEL', 'layer bn1: epsilon: received "1"'],
    ['a slope as text', [leakyRelu({ slope: '1' as unknown as number })], 'INVALID_MODEL', 'layer leakyRelu1: slope: received "1"'],
    [
      'bounds in the wrong order',
      [clamp(1, 1)],
      'INVALID_MODEL',
      'layer clamp1: most: received 1; use a number above 1 and that bfloat16 holds exactly, such as 6'
    ],
    ['a bound that bfloat16 rounds', [clamp(0, 6.01)], 'INVALID_MODEL', 'layer clamp1: most: received 6.01'],
    ['a bound without end', [clamp(-Infinity, 6)], 'INVALID_MODEL', 'layer clamp1: least: received -Infinity'],
    ['an alpha as text', [localResponseNorm(5, { alpha: '1' as unknown as number })], 'INVALID_MODEL', 'layer lrn1: alpha: received "1"'],
    [
      'a k that is too small',
      [localResponseNorm(5, { k: 1e-7 })],
      'INVALID_MODEL',
      'layer lrn1: k: received 1e-7; use a number from 0.000001'
    ],
    ['a gamma that no float holds', [batchNorm2d({ gamma: 1e39 })], 'INVALID_MODEL', 'layer bn1: gamma: received 1e+39'],
    ['a bias that is no truth', [conv2d(1, 1, { bias: 'no' as unknown as boolean })], 'INVALID_MODEL', 'layer conv1: bias: received "no"'],
    [
      'an end that is no truth',
      [residual({ body: [relu()], relu: 0 as unknown as boolean })],
      'INVALID_MODEL',
      'layer block1: relu: received 0'
    ],
    ['padding beyond all memory', [conv2d(3, 1, { padding: 2 ** 30 })], 'INVALID_MODEL', 'layer conv1: shape: received [2,3,'],
    [
      'an initialiser that does not exist',
      [conv2d(1, 1, { initialiser: 'zero' as 'heNormal' })],
      'INVALID_MODEL',
      'layer conv1: initialiser'
    ],
    [
      'a property that is mistyped',
      [conv2d(2, 3, { pading: 1 } as object)],
      'INVALID_MODEL',
      'model test: layers.0.pading: received 1; use only filters, kernel, stride, padding, dilation, groups, bias, initialiser, biasInitialiser, name, frozen; did you mean padding?'
    ],
    ['a property of another kind, deep inside', [residual({ body: [{ ...relu(), slope: 1 } as Layer] })], 'INVALID_MODEL', 'body.0.slope:'],
    ['an image before the softmax', [conv2d(2, 1)], 'SHAPE_MISMATCH', 'layer conv1: gives (2, 9, 7) to the softmax'],
    ['no layers', [], 'INVALID_MODEL', 'model test: layers']
  ]
  for (const [what, layers, code, message] of wrong)
    it(`is refused: ${what}`, () => {
      const error = thrown(() => buildGraph(image(layers), { batch: 2, mode: 'train' }))
      expect(error.code).to.equal(code)
      expect(error.message).to.include(message)
    })

  it('is refused where it is no model at all, wherever one is taken', async () => {
    for (const [model, told] of [
      [undefined, 'model: received undefined; give a Model'],
      ['lenet', 'model: received "lenet"; give a Model: what defineModel makes of layers, or modelNamed'],
      [{}, 'model: name: received undefined'],
      [{ name: 'x', input: [0], layers: [linear(2)] }, 'model x: input: received [0]'],
      [{ name: 'x', input: [3], layers: 5 }, 'model x: layers: received 5'],
      [
        { name: 'x', input: [3], layers: [linear(2)], labelsmoothing: 0.1 },
        'model x: labelsmoothing: received 0.1; use only name, input, layers'
      ]
    ] as const) {
      const given = model as unknown as Model
      await refused('INVALID_MODEL', () => parameterCount(given), told)
      await refused('INVALID_MODEL', () => loadOperators(given), told)
      // By name it takes those of the zoo.
      if (typeof model === 'object') await refused('INVALID_MODEL', () => explain({ model: given }), told)
    }
    for (const none of [undefined, null, 'lenet'])
      await refused('INVALID_MODEL', () => defineModel(none as unknown as Model), 'give it a name, an input and layers')
  })

  it('is refused: options that are no object, where PyTorch takes a number', () => {
    const five = 5 as unknown as object
    for (const make of [
      () => conv2d(3, 16, five),
      () => maxPool2d(3, five),
      () => linear(84, five),
      () => batchNorm2d(five),
      () => groupNorm(3, five),
      () => relu([] as object)
    ])
      expect(thrown(make)).to.include({ code: 'INVALID_MODEL' }).and.to.have.property('message').that.includes('options: received')
  })

  it('is refused: one value a channel for batch norm, in training only', () => {
    const single = defineModel({ name: 'single', input: [2, 1, 1], layers: [batchNorm2d(), flatten()] })
    expect(thrown(() => buildGraph(single, { batch: 1, mode: 'train' })).message).to.include('layer bn1: received input (2, 1, 1)')
    expect(kinds(predictionGraph(single))).to.include('batchNormInference')
  })

  it('is refused: a batch that is no number of samples', () => {
    for (const batch of [0, -1, 1.5, NaN, 2 ** 31])
      expect(thrown(() => buildGraph(image([flatten()]), { batch, mode: 'train' })).code).to.equal('INVALID_OPTION')
  })

  it('is refused: loading that does not suit the samples', () => {
    const features = defineModel({ name: 'features', input: [5], layers: [linear(2)] })
    const build = (load: LoadOptions) => thrown(() => buildGraph(features, { batch: 1, mode: 'train', load })).message
    expect(build({ padding: 1 })).to.include('load.padding: received 1')
    expect(build({ flip: true })).to.include('load.flip')
    expect(
      thrown(() => buildGraph(image([flatten()]), { batch: 1, mode: 'train', load: { padding: 9, border: 'reflect' } })).message
    ).to.include('load.padding: received 9')
    for (const load of [{ border: 'edge' }, { flip: 'always' }] as unknown as LoadOptions[])
      expect(thrown(() => buildGraph(image([flatten()]), { batch: 1, mode: 'train', load })).code).to.equal('INVALID_OPTION')
    expect(build({ mean: [1, 2] })).to.include('load.mean: received [1,2]')
    expect(build({ std: [0] })).to.include('load.std: received [0]')
  })
})

describe('two shapes', () => {
  it('are compared by all their extents, more than a message shows', () => {
    const ones = Array.from({ length: 100 }, () => 1)
    expect(sameShape(ones, [...ones])).to.equal(true)
    expect(sameShape(ones, [...ones.slice(1), 2])).to.equal(false)
    expect(sameShape(ones, ones.slice(1))).to.equal(false)
  })
})
