import { expect } from 'chai'
import { checkProgram } from './support/check-program.js'
import { compile } from '../../src/compiler/compile.js'
import type { Program } from '../../src/compiler/program.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { parametersOf } from '../../src/model/graph.js'
import { batchNorm2d, conv2d, defineModel, embedding, globalAvgPool, layerNorm, linear, relu, residual } from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import type { Model } from '../../src/model/model.js'
import { FakeLowering } from '../fakes/lowering.js'
import { refused } from '../support/codes.js'

const image = (...layers: readonly Layer[]): Model => defineModel({ name: 'test', input: [3, 6, 6], layers })
const network = (frozen: Partial<Record<'first' | 'block' | 'norm', boolean>> = {}): Model =>
  image(
    conv2d(4, 3, { padding: 1, frozen: frozen.first === true }),
    relu(),
    residual({ body: [conv2d(4, 1), batchNorm2d({ frozen: frozen.norm === true })], frozen: frozen.block === true }),
    globalAvgPool(),
    linear(2)
  )
const step = (model: Model, freeze: readonly string[] = []) =>
  compile(model, new FakeLowering(), { batch: 2, mode: 'train', precision: 'f32', freeze })
const gradientsIn = ({ values }: Program): string[] => values.filter(({ role }) => role === 'parameterGradient').map(({ name }) => name)
const gradientsOf = (model: Model, freeze: readonly string[] = []): string[] => gradientsIn(step(model, freeze))
const backward = (model: Model, freeze: readonly string[] = []): string =>
  step(model, freeze)
    .segments.backward.filter(({ kind }) => kind !== 'reorder')
    .map(({ kind }) => kind)
    .join(' ')

describe('frozen layers', () => {
  it('have no gradient, and nothing is computed backwards before the first layer that learns', () => {
    expect(gradientsOf(network({ first: true, block: true }))).to.deep.equal(['linear1.weight.gradient', 'linear1.bias.gradient'])
    expect(backward(network({ first: true, block: true }))).to.equal('softmaxCrossEntropyBackward linearBackwardWeights')
    expect(backward(network({ first: true }))).not.to.include('conv2dBackwardData')
    expect(backward(network({ first: true }))).to.include('conv2dBackwardWeights')
    checkProgram(step(network({ first: true, block: true })))
  })

  it('let gradients pass to what learns before them', () => {
    const names = gradientsOf(network({ block: true }))
    expect(names).to.deep.equal(
      ['conv1.weight.gradient', 'conv1.bias.gradient', 'linear1.weight.gradient', 'linear1.bias.gradient'].toSorted(
        (a, b) => names.indexOf(a) - names.indexOf(b)
      )
    )
    expect(backward(network({ block: true }))).to.include('batchNormBackward')
    expect(backward(network({ norm: true }))).to.include('batchNormBackward')
    checkProgram(step(network({ norm: true })))
  })

  it('are named by patterns too', () => {
    const frozen = (...freeze: string[]): string[] =>
      parametersOf(buildGraph(network(), { batch: 2, mode: 'train', freeze }))
        .filter((parameter) => parameter.frozen)
        .map(({ name }) => name)
    expect(frozen('conv1')).to.deep.equal(['conv1.weight', 'conv1.bias'])
    expect(frozen('block1.*.bias', 'linear1.weight')).to.deep.equal(['block1.conv1.bias', 'block1.bn1.bias', 'linear1.weight'])
    // A bias may learn where its weight does not.
    expect(gradientsOf(network(), ['conv1.weight']))
      .to.include('conv1.bias.gradient')
      .and.not.include('conv1.weight.gradient')
    checkProgram(step(network(), ['conv1.weight', 'block1.bn1.weight']))
  })

  it('keep their places, marked in the layout that all programs share', () => {
    const [usual, frozen] = [step(network()).parameters, step(network({ first: true })).parameters]
    const mark = (name: string) => (name.startsWith('conv1') ? { frozen: true } : {})
    expect(frozen).to.deep.equal({ ...usual, parameters: usual.parameters.map((each) => ({ ...each, ...mark(each.name) })) })
    const predict = compile(network({ first: true }), new FakeLowering(), {
      batch: 3,
      mode: 'predict',
      precision: 'f32',
      parameters: frozen
    })
    expect(predict.parameters).to.deep.equal(frozen)
  })

  it('are left out of a layer norm’s gradient alike', () => {
    const model = defineModel({ name: 'test', input: [6], layers: [linear(4), layerNorm({ frozen: true }), linear(2)] })
    expect(gradientsOf(model)).not.to.include('norm1.weight.gradient')
    checkProgram(step(model))
  })

  it('may have the weight of another layer only where that is frozen too', async () => {
    const tied = (first: Layer, last: Layer, freeze: readonly string[] = []) =>
      step(defineModel({ name: 'tied', input: [4], layers: [first, linear(3), last] }), freeze)
    const table = (frozen: boolean) => embedding(5, 3, { name: 'table', frozen })
    const head = (frozen: boolean) => linear(5, { name: 'head', tied: 'table', frozen })
    const told = 'layer head: frozen: received true; its weight is table.weight, which learns: freeze that layer too'
    await refused('INVALID_MODEL', () => tied(table(false), head(true)), told)
    const inside = residual({ name: 'block', frozen: true, body: [linear(3, { name: 'head', tied: 'linear1' })] })
    await refused('INVALID_MODEL', () => tied(embedding(5, 3), inside), 'layer block.head: frozen', 'linear1.weight, which learns')
    expect(gradientsIn(tied(table(true), head(true)))).to.deep.equal(['linear1.weight.gradient', 'linear1.bias.gradient'])
    expect(gradientsIn(tied(table(false), head(true), ['table']))).not.to.include('table.weight.gradient')
    expect(gradientsIn(tied(table(false), head(false)))).to.include('table.weight.gradient')
  })

  it('are refused where a name means nothing or nothing learns', async () => {
    await refused('UNKNOWN_NAME', () => step(network(), ['conv9']), 'freeze', 'conv9', 'block1')
    await refused('INVALID_OPTION', () => step(network(), ['*']), 'freeze', 'all are frozen')
    await refused('INVALID_MODEL', () => step(image(conv2d(2, 1, { frozen: 1 as unknown as boolean }))), 'conv1', 'frozen')
  })
})
