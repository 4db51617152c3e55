import { expect } from 'chai'
import { differentiate } from '../../src/compiler/differentiate.js'
import { fuse } from '../../src/compiler/fuse.js'
import { NONE, type Graph } from '../../src/model/graph.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { GraphWriter } from '../../src/model/graph-writer.js'
import { batchNorm2d, conv2d, defineModel, embedding, globalAvgPool, linear, relu, residual } from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import { thrown } from '../support/thrown.js'

function backward(layers: Layer[]): string[] {
  return shown(
    fuse(buildGraph(defineModel({ name: 'test', input: [3, 8, 8], layers: [...layers, globalAvgPool()] }), { batch: 2, mode: 'train' }))
  )
}

/** The backward operators: `kind inputs > outputs`. */
function shown(graph: Graph): string[] {
  const { values, segments } = differentiate(graph)
  const name = (id: number): string => values[id]?.name ?? '-'
  return segments.backward.map(({ kind, inputs, outputs }) => `${kind} ${inputs.map(name).join(',')} > ${outputs.map(name).join(',')}`)
}

const norm = residual({ name: 'block', body: [conv2d(3, 1, { bias: false }), batchNorm2d()] })

describe('differentiate', () => {
  it('goes back from the loss to every parameter, and computes nothing for the samples', () => {
    expect(backward([conv2d(4, 3), relu()])).to.deep.equal([
      'softmaxCrossEntropyBackward differences,target > pool1.gradient',
      'globalAvgPoolBackward pool1.gradient > relu1.gradient',
      'reluBackward relu1,relu1.gradient > conv1.backward.relu',
      'conv2dBackwardWeights input,conv1.backward.relu > conv1.weight.gradient,conv1.bias.gradient'
    ])
  })

  it('lets batch norm add two gradients, and hand its own to the shortcut', () => {
    const operators = backward([conv2d(3, 1, { bias: false }), batchNorm2d(), relu(), norm])
    expect(operators.filter((operator) => operator.startsWith('add'))).to.deep.equal([])
    expect(operators.filter((operator) => operator.startsWith('batchNormBackward'))).to.deep.equal([
      'batchNormBackward block.conv1,block.bn1.weight,block.bn1.mean,block.bn1.variance,block,block.gradient,- > ' +
        'block.conv1.gradient,block.bn1.weight.gradient,block.bn1.bias.gradient,relu1.gradient',
      'batchNormBackward conv1,bn1.weight,bn1.mean,bn1.variance,relu1,relu1.gradient,relu1.gradient.2 > ' +
        'conv1.gradient,bn1.weight.gradient,bn1.bias.gradient,-'
    ])
  })

  it('adds the gradients of several readers', () => {
    const operators = backward([conv2d(3, 1, { bias: false }), norm])
    expect(operators.slice(-2)).to.deep.equal([
      'add conv1.gradient,conv1.gradient.2 > conv1.backward.sum',
      'conv2dBackwardWeights input,conv1.backward.sum > conv1.weight.gradient,-'
    ])
  })

  it('passes a gradient through a sum without an operator', () => {
    const operators = backward([conv2d(3, 1, { bias: false }), residual({ body: [conv2d(3, 1, { bias: false })], relu: false })])
    expect(operators).to.include('add block1.gradient,conv1.gradient > conv1.backward.sum')
    const whole = residual({ body: [conv2d(3, 1, { bias: false }), batchNorm2d()], relu: false })
    expect(backward([conv2d(3, 1, { bias: false }), whole])).to.include('add block1.gradient,conv1.gradient > conv1.backward.sum')
  })

  it('sums the gradient of a parameter that several layers share', () => {
    const writer = new GraphWriter()
    const x = writer.value('input', [2, 3], { role: 'input' })
    const target = writer.value('target', [2, 3], { role: 'target' })
    const w = writer.value('w', [3, 3], { role: 'parameter' })
    const layers = ['a', 'b', 'c'].map((name) => writer.value(name, [2, 3]))
    const loss = writer.value('loss', [1], { type: 'statistic' })
    for (const [i, y] of layers.entries()) writer.operator('linear', `layer${i}`, [layers[i - 1] ?? x, w, NONE], [y], { relu: 0 })
    writer.operator('meanSquaredError', 'loss', [layers[2]!, target], [loss])
    const operators = shown(writer.graph('shared', 2, { loss }))
    expect(operators.filter((operator) => operator.startsWith('add'))).to.deep.equal([
      'add w.summand,w.summand.2 > w.sum',
      'add w.sum,w.summand.3 > w.gradient'
    ])
  })

  it('adds the gradients of several losses', () => {
    const writer = new GraphWriter(buildGraph(defineModel({ name: 'two', input: [3], layers: [linear(3)] }), { batch: 2, mode: 'train' }))
    const { named, values } = writer.graph('two', 2, {})
    const output = values.findIndex(({ name }) => name === 'linear1')
    expect(named).to.deep.equal({})
    const teacher = writer.value('teacher', [2, 3], { role: 'target' })
    const distillation = writer.value('distillation', [1], { type: 'statistic' })
    writer.operator('meanSquaredError', 'distillation', [output, teacher], [distillation])
    expect(shown(writer.graph('two', 2, { distillation }))).to.include('add linear1.gradient,linear1.gradient.2 > linear1.backward.sum')
  })

  it('refuses a layer that has the name of a gradient of a parameter', () => {
    const tied = { tied: 'first' } as const
    for (const layers of [
      [linear(3, { name: 'first' }), linear(3, { name: 'first.weight.gradient' })],
      [embedding(3, 3, { name: 'first' }), linear(3, { name: 'first.weight.gradient' }), linear(3, tied)]
    ]) {
      const model = defineModel({ name: 'test', input: [3], layers })
      const error = thrown(() => differentiate(buildGraph(model, { batch: 2, mode: 'train' })))
      expect(error.code).to.equal('INVALID_MODEL')
      expect(error.message).to.equal('name: received first.weight.gradient twice; give each layer a name of its own')
    }
  })

  it('refuses an operator that has no gradient', () => {
    const model = defineModel({ name: 'test', input: [2, 4, 4], layers: [conv2d(2, 1), batchNorm2d(), globalAvgPool()] })
    const error = thrown(() => differentiate(buildGraph(model, { batch: 2, mode: 'evaluate' })))
    expect(error.code).to.equal('INVALID_MODEL')
    expect(error.message).to.include('layer bn1: received operator batchNormInference, which has no gradient')
  })
})
