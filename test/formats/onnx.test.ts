import { expect } from 'chai'
import { exportOnnx, onnxNodes } from '../../src/formats/onnx/export.js'
import { decodeModel } from './support/decode-onnx.js'
import { loadOperators } from '../../src/model/composed.js'
import { buildGraph, predictionGraph } from '../../src/model/graph-builder.js'
import { parametersOf } from '../../src/model/graph.js'
import {
  avgPool2d,
  batchNorm2d,
  causalSelfAttention,
  clamp,
  concat,
  conv2d,
  convTranspose2d,
  defineModel,
  dropout,
  embedding,
  flatten,
  gelu,
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
  meanPositions,
  multiply,
  relu,
  residual,
  sigmoid,
  subsamplePad,
  takePosition,
  tanh,
  upsample2d
} from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import type { Model } from '../../src/model/model.js'
import { gpt, resnet, textClassifier } from '../../src/model/zoo/index.js'
import { layerOf } from '../fakes/operators/stand-in.js'
import { activations } from '../support/activations.js'
import { refused } from '../support/codes.js'
import { smallZoo } from '../support/zoo.js'
import { distance, runOnnx } from './support/onnxruntime.js'
import { randomSamples, randomTokens, randomTrainedModel, type RandomModelOptions } from './support/random-weights.js'

const cifar = { input: [3, 32, 32], classes: 10 }

function imageModel(name: string, input: readonly number[], ...layers: Layer[]): Model {
  return defineModel({ name, input, layers })
}

/** What the zoo does not have: every attribute away from its default, odd extents. */
const others: readonly Model[] = [
  resnet(cifar, { depth: 20, shortcut: 'B' }),
  imageModel('convolutions', [6, 9, 7], conv2d(8, [3, 2], { stride: [2, 1], padding: [1, 0], groups: 2 }), conv2d(9, 1, { bias: false })),
  imageModel(
    'dilated convolutions',
    [3, 9, 8],
    conv2d(4, 3, { padding: [2, 1], dilation: [2, 1] }),
    conv2d(4, [2, 3], { dilation: 3, groups: 2 })
  ),
  imageModel('max pool', [2, 9, 7], maxPool2d([3, 2], { stride: [2, 1], padding: [1, 0] })),
  imageModel('average pool', [2, 9, 7], avgPool2d([3, 2], { stride: [1, 2], padding: [1, 1] })),
  imageModel('batch norm', [3, 5, 5], batchNorm2d({ epsilon: 0.1 }), relu(), flatten(), dropout(0.5), linear(4, { bias: false })),
  imageModel(
    'group norms',
    [3, 5, 4],
    conv2d(12, 1),
    groupNorm(4, { epsilon: 0.1 }),
    relu(),
    residual({ body: [conv2d(12, 1), groupNorm(1)] }),
    groupNorm(12)
  ),
  imageModel('upsampling', [3, 5, 4], conv2d(4, 1), concat([[], [maxPool2d(1), upsample2d(1)]]), upsample2d([2, 3])),
  imageModel('subsampling', [3, 7, 5], subsamplePad(3, 2, 1), globalAvgPool()),
  imageModel(
    'residual',
    [2, 4, 4],
    residual({ body: [conv2d(2, 3, { padding: 1 })], relu: false }),
    conv2d(3, 1, { name: 'output' }),
    relu()
  ),
  ...[...activations, leakyRelu({ slope: 0.2 }), clamp(-0.25, 0.5)].map((layer) => imageModel(layer.kind, [3, 6, 5], conv2d(5, 3), layer)),
  imageModel('gelu', [3, 6, 5], conv2d(5, 3), gelu(), flatten(), linear(7), gelu({ approximate: 'tanh' })),
  imageModel('response norm', [7, 4, 5], localResponseNorm(3, { alpha: 0.5, beta: 0.6, k: 2 }), conv2d(16, 1), localResponseNorm(5)),
  imageModel(
    'response norms without a sum',
    [7, 4, 5],
    localResponseNorm(3, { alpha: 0, k: 2 }),
    conv2d(5, 1),
    localResponseNorm(3, { beta: 0 })
  ),
  imageModel(
    'branches',
    [3, 6, 6],
    concat([[conv2d(5, 3, { padding: 1 })], [], [conv2d(8, 1), multiply({ body: [conv2d(8, 1), sigmoid()] })]]),
    flatten(),
    concat([[linear(3)], [linear(2), tanh()]])
  ),
  imageModel(
    'channels times numbers',
    [3, 6, 5],
    conv2d(8, 3),
    multiply({ body: [globalAvgPool(), linear(8), sigmoid()] }),
    multiply({ body: [conv2d(8, 1)], shortcut: [globalAvgPool({ keepAxes: true }), conv2d(8, 1)] }),
    globalAvgPool({ keepAxes: true })
  ),
  imageModel(
    'recurrent layers',
    [7, 5],
    lstm(6),
    concat([[gru(4)], [gru(3, { reverse: true, bias: false })], []]),
    lstm(5, { reverse: true, bias: false }),
    gru(3, { layers: 2, bidirectional: true }),
    takePosition(-2),
    linear(2)
  ),
  imageModel(
    'transposed convolutions',
    [4, 5, 6],
    convTranspose2d(6, [3, 2], { stride: 2, padding: 1, outputPadding: 1, groups: 2 }),
    layerScale({ initial: 0.5 }),
    convTranspose2d(3, 2, { dilation: [1, 2], bias: false }),
    layerScale({ initial: 0.3, parameter: 'gamma' })
  ),
  imageModel('positions and back', [4, 5, 6], layerNorm2d(), imagePositions(), linear(3), imageOfPositions(5, 6)),
  imageModel('features', [5], flatten(), linear(3), relu(), dropout(0.3)),
  imageModel('dropout alone', [3], dropout(0.3))
]

/** Outputs of ONNX Runtime and of the engine differ by no more than this share of the largest. */
const TOLERANCE = 1e-5

interface ExportOptions extends RandomModelOptions {
  /** How many tokens a model of these knows. */
  readonly tokens?: number
}

async function expectEqual(model: Model, { tokens, ...options }: ExportOptions = {}): Promise<void> {
  const { normalisation } = options
  const trained = randomTrainedModel(model, options)
  const file = exportOnnx(model, { ...trained.weights(), ...trained.statistics() }, normalisation ? { normalisation } : {})
  for (const count of [1, 3]) {
    const samples = tokens === undefined ? randomSamples(model, count) : randomTokens(model, tokens, count)
    const wanted = trained.predict(samples)
    const { shape, data } = await runOnnx(file, samples, [count, ...model.input])
    expect(shape[0]).to.equal(count)
    expect(data.length).to.equal(wanted.length)
    expect(distance(data, wanted), `batch ${count}`).to.be.below(TOLERANCE)
  }
}

describe('an exported ONNX file', function () {
  this.timeout(120_000)

  for (const model of smallZoo) it(`of ${model.name} gives the engine's outputs in ONNX Runtime`, () => expectEqual(model))

  for (const model of others)
    for (const backend of ['cpu', 'reference'] as const)
      it(`of ${model.name} gives the outputs of ${backend} in ONNX Runtime`, () => expectEqual(model, { backend }))

  it('of a GPT and of an encoder gives its outputs in ONNX Runtime, from token ids', async () => {
    await expectEqual(gpt({ input: [16], classes: 40 }, { layers: 2, heads: 4, width: 32 }), { tokens: 40 })
    await expectEqual(gpt({ input: [5], classes: 7 }, { layers: 1, heads: 1, width: 6, dropout: 0.2 }), { tokens: 7, backend: 'reference' })
    await expectEqual(textClassifier({ input: [9], classes: 3 }, { layers: 1, heads: 2, width: 8 }), { tokens: 256 })
    const rows = [embedding(9, 8), linear(12), causalSelfAttention(2), layerNorm({ epsilon: 0.1 }), linear(9, { bias: false })]
    await expectEqual(defineModel({ name: 'rows', input: [6], layers: rows }), { tokens: 9 })
  })

  it('of recurrent layers over texts of several lengths gives their outputs in ONNX Runtime', async () => {
    const [padding, reverse] = [0, true]
    const both = concat([[lstm(5, { padding })], [lstm(4, { padding, reverse })], [gru(3, { padding })], [gru(2, { padding, reverse })]])
    await expectEqual(defineModel({ name: 'texts', input: [6], layers: [embedding(3, 8), both, linear(4)] }), { tokens: 3 })
    await expectEqual(defineModel({ name: 'mean', input: [6], layers: [embedding(3, 8), both, meanPositions({ padding })] }), { tokens: 3 })
    const last = takePosition(-2, { padding })
    await expectEqual(defineModel({ name: 'last', input: [6], layers: [embedding(3, 8), both, last] }), { tokens: 3 })
  })

  it("of an operator of one's own has its shapes, for any batch", async () => {
    const folded = layerOf({
      shape: ([rows, columns]) => [2, rows! / 2, columns!],
      build: (builder, x) => {
        const [batch, rows, columns] = builder.shape(x) as [number, number, number]
        return builder.add('reshape', [x], [batch, 2, rows / 2, columns])
      }
    })
    const planes = defineModel({ name: 'planes', input: [6, 4], layers: [folded, conv2d(3, 2)] })
    await loadOperators(planes)
    await expectEqual(planes)
    const byRow = layerOf({
      shape: ([rows]) => [rows!, 5],
      build: (builder, x) => {
        const [batch, rows, columns] = builder.shape(x) as [number, number, number]
        const flat = builder.add('reshape', [x], [batch * rows, columns])
        const weight = builder.parameter('weight', [5, columns], { kind: 'uniform', bound: 1 })
        return builder.add('reshape', [builder.add('linear', [flat, weight, -1], [batch * rows, 5], { relu: 0 })], [batch, rows, 5])
      }
    })
    await expectEqual(defineModel({ name: 'rows', input: [6, 4], layers: [byRow, flatten(), linear(3)] }))
  })

  it('normalises its input where it is told how', async () => {
    const colour = imageModel('colour', [3, 6, 6], conv2d(4, 3, { padding: 1 }))
    await expectEqual(colour, { normalisation: { mean: [0.5, 0.4, 0.3], std: [0.2, 0.25, 0.3] } })
    await expectEqual(colour, { normalisation: { mean: [0.5], std: [0.2] } })
    await expectEqual(colour, { normalisation: { mean: [], std: [0.2] } })
    const features = imageModel('features', [5], linear(3))
    await expectEqual(features, { normalisation: { mean: [0.1], std: [0.3] } })
  })

  it('has our names, shapes and values, and a free batch dimension', () => {
    const model = resnet(cifar)
    const trained = randomTrainedModel(model)
    const tensors = { ...trained.weights(), ...trained.statistics() }
    const { irVersion, opsetImport, graph, producerName } = decodeModel(exportOnnx(model, tensors))
    expect([irVersion, producerName]).to.deep.equal([8, 'arbalest'])
    expect(opsetImport).to.deep.equal([{ version: 17 }])
    const shapes = [...graph.input, ...graph.output].map(({ name, type }) => [name, ...type.tensorType.shape.dim])
    expect(shapes).to.deep.equal([
      ['input', { dimParam: 'N' }, { dimValue: 3 }, { dimValue: 32 }, { dimValue: 32 }],
      ['output', { dimParam: 'N' }, { dimValue: 10 }]
    ])
    const initializers = new Map(graph.initializer.map((tensor) => [tensor.name, tensor]))
    for (const { name, shape } of parametersOf(predictionGraph(model))) {
      const { dims, rawData } = initializers.get(name)!
      expect(dims, name).to.deep.equal(shape)
      expect(new Float32Array(Uint8Array.from(rawData).buffer), name).to.deep.equal(tensors[name]!.data)
    }
    expect(initializers.get('bn1.runningVariance')!.dims).to.deep.equal([16])
    expect(initializers.has('bn1.count')).to.equal(false)
  })

  it('is refused where the values do not suit the model', async () => {
    const model = imageModel('small', [4], linear(2, { name: 'fc' }))
    const weight = { shape: [2, 4], data: new Float32Array(8) }
    const bias = { shape: [2], data: new Float32Array(2) }
    await refused('UNKNOWN_NAME', () => exportOnnx(model, { 'fc.weight': weight }), 'fc.bias')
    await refused(
      'SHAPE_MISMATCH',
      () => exportOnnx(model, { 'fc.weight': { ...weight, shape: [4, 2] }, 'fc.bias': bias }),
      '[4,2]',
      '[2,4]'
    )
    await refused('INVALID_OPTION', () => exportOnnx(model, { 'fc.weight': { ...weight, shape: [2, 3] }, 'fc.bias': bias }), 'fc.weight')
    const doubles = { ...bias, data: new Float64Array(2) as unknown as Float32Array }
    await refused('INVALID_OPTION', () => exportOnnx(model, { 'fc.weight': weight, 'fc.bias': doubles }), 'fc.bias', 'Float32Array')
    const normalisation = { mean: [1, 2], std: [1] }
    await refused('INVALID_OPTION', () => exportOnnx(model, { 'fc.weight': weight, 'fc.bias': bias }, { normalisation }), 'mean')
  })

  it('has no local response norm of an even size, which ONNX centres otherwise', async () => {
    const model = imageModel('even', [3, 4, 4], localResponseNorm(4))
    await refused('UNSUPPORTED_OPERATOR', () => exportOnnx(model, {}), 'size', '4')
  })

  it('has no form for operators of training and for fused ones', async () => {
    const graph = buildGraph(imageModel('small', [4], linear(2), dropout(0.5)), { batch: 1, mode: 'train' })
    const [dropped] = graph.operators.filter(({ kind }) => kind === 'dropout')
    await refused('UNSUPPORTED_OPERATOR', () => onnxNodes(dropped!, graph, String), 'dropout')
    const [full] = graph.operators.filter(({ kind }) => kind === 'linear')
    await refused('UNSUPPORTED_OPERATOR', () => onnxNodes({ ...full!, attributes: { relu: 1 } }, graph, String), 'fused')
  })
})
