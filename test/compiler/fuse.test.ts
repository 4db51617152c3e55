import { expect } from 'chai'
import { fuse } from '../../src/compiler/fuse.js'
import { type Mode, buildGraph, predictionGraph } from '../../src/model/graph-builder.js'
import type { Graph } from '../../src/model/graph.js'
import {
  batchNorm2d,
  clamp,
  conv2d,
  defineModel,
  flatten,
  globalAvgPool,
  groupNorm,
  linear,
  relu,
  relu6,
  residual
} from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'

/** The operators that layers over (3, 8, 8) become: `conv2d+relu conv1`. */
function fused(layers: Layer[], mode: Mode = 'train'): string[] {
  const graph = fuse(buildGraph(defineModel({ name: 'test', input: [3, 8, 8], layers: [...layers, globalAvgPool()] }), { batch: 2, mode }))
  return shown(graph)
}

function shown(graph: Graph): string[] {
  const name = (id: number): string => graph.values[id]?.name ?? '-'
  return graph.operators
    .filter(({ kind }) => !['load', 'globalAvgPool', 'softmaxCrossEntropy'].includes(kind))
    .map(
      ({ kind, attributes, inputs, outputs }) =>
        `${kind}${attributes.relu ? '+relu' : ''}${kind !== 'clamp' && attributes.most !== undefined ? `<=${String(attributes.most)}` : ''} ${inputs.map(name).join(',')} > ${name(outputs[0]!)}`
    )
}

describe('fuse', () => {
  it('joins a ReLU to the convolution, linear layer or batch norm before it', () => {
    expect(fused([conv2d(3, 1, { bias: false }), relu(), batchNorm2d(), relu()])).to.deep.equal([
      'conv2d+relu input,conv1.weight,- > relu1',
      'batchNorm+relu relu1,bn1.weight,bn1.bias,- > relu2'
    ])
    const dense = defineModel({ name: 'dense', input: [4], layers: [linear(3), relu(), linear(2)] })
    expect(shown(fuse(predictionGraph(dense)))).to.deep.equal([
      'linear+relu input,linear1.weight,linear1.bias > relu1',
      'linear relu1,linear2.weight,linear2.bias > linear2'
    ])
  })

  it('joins a ReLU6 to a batch norm, and to nothing else', () => {
    expect(fused([conv2d(3, 1, { bias: false }), relu6(), batchNorm2d(), relu6(), batchNorm2d(), clamp(-1, 6)])).to.deep.equal([
      'conv2d input,conv1.weight,- > conv1',
      'clamp conv1 > clamp1',
      'batchNorm+relu<=6 clamp1,bn1.weight,bn1.bias,- > clamp2',
      'batchNorm clamp2,bn2.weight,bn2.bias,- > bn2',
      'clamp bn2 > clamp3'
    ])
  })

  it('joins the sum and the ReLU of a residual block to the batch norm that ends its body', () => {
    const block = residual({ name: 'block', body: [conv2d(3, 1, { bias: false }), batchNorm2d()] })
    expect(fused([conv2d(3, 1, { bias: false }), block])).to.deep.equal([
      'conv2d input,conv1.weight,- > conv1',
      'conv2d conv1,block.conv1.weight,- > block.conv1',
      'batchNorm+relu block.conv1,block.bn1.weight,block.bn1.bias,conv1 > block'
    ])
  })

  it('joins the same to a group norm', () => {
    const block = residual({ name: 'block', body: [groupNorm(3), relu6(), conv2d(3, 1, { bias: false }), groupNorm(1)] })
    for (const mode of ['train', 'predict'] as const)
      expect(fused([conv2d(3, 1, { bias: false }), block], mode)).to.deep.equal([
        'conv2d input,conv1.weight,- > conv1',
        'groupNorm+relu<=6 conv1,block.gn1.weight,block.gn1.bias,- > block.clamp1',
        'conv2d block.clamp1,block.conv1.weight,- > block.conv1',
        'groupNorm+relu block.conv1,block.gn2.weight,block.gn2.bias,conv1 > block'
      ])
  })

  it('waits for a shortcut that is computed after the body', () => {
    const block = residual({ name: 'block', body: [batchNorm2d()], shortcut: [conv2d(3, 1, { bias: false })], relu: false })
    expect(fused([block], 'evaluate')).to.deep.equal([
      'conv2d input,block.shortcut.conv1.weight,- > block.shortcut.conv1',
      'batchNormInference input,block.bn1.weight,block.bn1.bias,bn1,bn2,block.shortcut.conv1 > block'.replace(
        'bn1,bn2',
        'block.bn1.runningMean,block.bn1.runningVariance'
      )
    ])
  })

  it('takes the shortcut’s batch norm where the body ends in none', () => {
    const block = residual({ name: 'block', body: [conv2d(3, 1, { bias: false })], shortcut: [batchNorm2d()] })
    expect(fused([block]).at(-1)).to.equal('batchNorm+relu input,block.shortcut.bn1.weight,block.shortcut.bn1.bias,block.conv1 > block')
  })

  it('joins a residual sum without batch norm to its ReLU only', () => {
    expect(fused([residual({ name: 'block', body: [conv2d(3, 1, { bias: false })] })]).at(-1)).to.equal(
      'add+relu block.conv1,input > block'
    )
  })

  it('leaves what has a second reader', () => {
    const operators = fused([conv2d(3, 1, { bias: false }), residual({ name: 'block', body: [relu()] })])
    expect(operators).to.deep.equal([
      'conv2d input,conv1.weight,- > conv1',
      'relu conv1 > block.relu1',
      'add+relu block.relu1,conv1 > block'
    ])
  })

  it('leaves what has a name', () => {
    const model = defineModel({ name: 'test', input: [3], layers: [linear(2), relu()] })
    const graph = predictionGraph(model)
    const linearOutput = graph.values.find(({ name }) => name === 'linear1')!.id
    expect(shown(fuse({ ...graph, named: { ...graph.named, hidden: linearOutput } }))).to.have.length(2)
  })

  it('leaves a batch norm whose moments are read before its residual is there', () => {
    const layers = [residual({ name: 'block', body: [batchNorm2d()], shortcut: [conv2d(3, 1, { bias: false })] }), flatten()]
    const graph = buildGraph(defineModel({ name: 'test', input: [3, 8, 8], layers }), { batch: 2, mode: 'statistics' })
    const [load, norm, conv, add, ...rest] = graph.operators
    const fold = rest.find(({ kind }) => kind === 'foldStatistics')!
    const early = { ...graph, operators: [load!, norm!, fold, conv!, add!, ...rest.filter((operator) => operator !== fold)] }
    expect(shown(fuse(early)).map((line) => line.split(' ')[0])).to.deep.equal([
      'batchNorm',
      'foldStatistics',
      'conv2d',
      'add+relu',
      'reshape'
    ])
    expect(shown(fuse(graph)).map((line) => line.split(' ')[0])).to.deep.equal(['conv2d', 'batchNorm+relu', 'reshape', 'foldStatistics'])
  })
})
