import { expect } from 'chai'
import { loadOperators } from '../../src/model/composed.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { parametersOf } from '../../src/model/graph.js'
import {
  composed,
  concat,
  conv2d,
  defineModel,
  flatten,
  gelu,
  globalAvgPool,
  leakyRelu,
  linear,
  localResponseNorm,
  multiply,
  residual,
  sigmoid
} from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import type { Model } from '../../src/model/model.js'
import { refused } from '../support/codes.js'

const image = (...layers: readonly Layer[]): Model => defineModel({ name: 'test', input: [4, 6, 6], layers })
const build = (model: Model) => buildGraph(model, { batch: 2, mode: 'train' })
const shapeOf = (model: Model, name: string) => build(model).values.find((value) => value.name === name)!.shape

describe('layers made of branches', () => {
  it('lay their channels side by side, an empty branch being the input', () => {
    const model = image(concat([[conv2d(3, 1)], [], [conv2d(5, 1, { name: 'last' })]]), flatten(), concat([[linear(2)], [linear(3)]]))
    expect(shapeOf(model, 'concat1')).to.deep.equal([2, 12, 6, 6])
    expect(shapeOf(model, 'concat2')).to.deep.equal([2, 5])
    const names = parametersOf(build(model)).map(({ name }) => name)
    expect(names.filter((name) => name.endsWith('weight'))).to.deep.equal([
      'concat1.0.conv1.weight',
      'concat1.2.last.weight',
      'concat2.0.linear1.weight',
      'concat2.1.linear1.weight'
    ])
  })

  it('name the layers of their branches as they are told to', () => {
    const named = (branchName: string) =>
      parametersOf(
        build(
          image(concat([[conv2d(3, 1, { name: 'a' })], [conv2d(2, 1, { name: 'b' })]], { name: 'c', branchName }), flatten(), linear(2))
        )
      ).map(({ name }) => name)
    expect(named('d')).to.include.members(['d.a.weight', 'd.b.weight'])
    expect(named('')).to.include.members(['a.weight', 'b.weight'])
  })

  it('multiply two of one shape, x itself where there is no shortcut', () => {
    const model = image(multiply({ name: 'gate', body: [conv2d(4, 1), sigmoid()] }), flatten(), linear(2))
    const [operator] = build(model).operators.filter(({ kind }) => kind === 'multiply')
    expect(operator!.inputs.map((id) => build(model).values[id]!.name)).to.deep.equal(['gate.sigmoid1', 'input'])
  })

  it('multiply each channel by its number, whichever branch has the numbers and whether they have axes', () => {
    const numbers = (keepAxes: boolean): Layer[] => [globalAvgPool({ name: 'pool', keepAxes }), sigmoid({ name: 'sigmoid' })]
    const reads = (layer: Layer): (readonly string[])[] => {
      const { operators, values } = build(image(layer, flatten(), linear(2)))
      return operators
        .filter(({ kind }) => kind === 'scaleChannels' || kind === 'reshape')
        .map(({ kind, inputs }) => [kind, ...inputs.map((id) => values[id]!.name)])
    }
    const last = ['reshape', 'gate']
    expect(reads(multiply({ name: 'gate', body: numbers(false) }))).to.deep.equal([['scaleChannels', 'input', 'gate.sigmoid'], last])
    expect(reads(multiply({ name: 'gate', body: [conv2d(4, 1, { name: 'x' })], shortcut: numbers(true) }))).to.deep.equal([
      ['reshape', 'gate.shortcut.pool.means'],
      ['reshape', 'gate.shortcut.sigmoid'],
      ['scaleChannels', 'gate.x', 'gate.factors'],
      last
    ])
  })

  it('have their operators of one’s own loaded', async () => {
    const own = composed(new URL('../fakes/operators/low-rank.js', import.meta.url), { options: { rank: 3, features: 8 } })
    const model = defineModel({ name: 'own', input: [8], layers: [concat([[own], [multiply({ body: [own] })]]), linear(2)] })
    await loadOperators(model)
    expect(parametersOf(build(model)).map(({ name }) => name)).to.include('concat1.1.multiply1.composed1.a')
  })

  it('refuse what does not fit, naming the layer', async () => {
    const rows: [Layer, 'SHAPE_MISMATCH' | 'INVALID_MODEL', ...string[]][] = [
      [concat([[conv2d(3, 3)], []]), 'SHAPE_MISMATCH', 'concat1', '(3, 4, 4)', '(4, 6, 6)'],
      [concat([[flatten()], []]), 'SHAPE_MISMATCH', 'concat1', '(144)'],
      [concat([[], []], { branchName: 'a b' }), 'INVALID_MODEL', 'concat1', 'branchName', 'a b'],
      [concat([]), 'INVALID_MODEL', 'concat1', 'branches', '[]'],
      [multiply({ body: [conv2d(3, 1)] }), 'SHAPE_MISMATCH', 'multiply1', '(3, 6, 6)'],
      [multiply({ body: [] }), 'INVALID_MODEL', 'multiply1', 'body'],
      [multiply({ body: [globalAvgPool(), linear(3)] }), 'SHAPE_MISMATCH', 'multiply1', '(3)', '(4, 6, 6)'],
      [residual({ body: [globalAvgPool()] }), 'SHAPE_MISMATCH', 'block1', '(4)', '(4, 6, 6)'],
      [globalAvgPool({ keepAxes: 1 as unknown as boolean }), 'INVALID_MODEL', 'pool1', 'keepAxes', '1'],
      [leakyRelu({ slope: -1 }), 'INVALID_MODEL', 'leakyRelu1', 'slope', '-1'],
      [gelu({ approximate: 'erf' as 'none' }), 'INVALID_MODEL', 'gelu1', 'approximate', 'erf'],
      [localResponseNorm(0), 'INVALID_MODEL', 'lrn1', 'size', '0'],
      [localResponseNorm(5, { k: 0 }), 'INVALID_MODEL', 'lrn1', 'k: received 0'],
      [localResponseNorm(5, { alpha: NaN }), 'INVALID_MODEL', 'lrn1', 'alpha']
    ]
    for (const [layer, code, ...words] of rows) await refused(code, () => build(image(layer)), ...words)
  })
})

describe('losses and what is counted', () => {
  const model = (rest: Partial<Model>): Model => defineModel({ name: 'test', input: [4], layers: [linear(3)], ...rest })

  it('smooth labels in training alone', () => {
    const smoothed = model({ labelSmoothing: 0.1 })
    const attributes = (mode: 'train' | 'evaluate') => buildGraph(smoothed, { batch: 2, mode }).operators.at(-1)!.attributes
    expect([attributes('train'), attributes('evaluate')]).to.deep.equal([{ smoothing: 0.1 }, {}])
  })

  it('weigh classes in training alone', () => {
    const weighed = model({ classWeights: [1, 0, 2.5] })
    const attributes = (mode: 'train' | 'evaluate') => buildGraph(weighed, { batch: 2, mode }).operators.at(-1)!.attributes
    expect([attributes('train'), attributes('evaluate')]).to.deep.equal([{ weights: [1, 0, 2.5] }, {}])
  })

  it('weigh labels that hold in training alone', () => {
    const attributes = (positiveWeights: number | number[], mode: 'train' | 'evaluate') =>
      buildGraph(model({ loss: 'binaryCrossEntropy', positiveWeights }), { batch: 2, mode }).operators.at(-1)!.attributes
    expect([attributes([1, 0, 2.5], 'train'), attributes(3, 'train')]).to.deep.equal([{ weights: [1, 0, 2.5] }, { weights: [3, 3, 3] }])
    expect(attributes(3, 'evaluate')).to.deep.equal({})
  })

  it('give binary cross-entropy targets of its logits’ shape', () => {
    const { values, named } = buildGraph(model({ loss: 'binaryCrossEntropy' }), { batch: 2, mode: 'evaluate' })
    expect([values[named['target']!]!.shape, values[named['target']!]!.type]).to.deep.equal([[2, 3], 'float'])
    expect(named).to.include.keys('loss', 'correct')
  })

  it('refuse what makes sense of classes alone', async () => {
    const predict = (rest: Partial<Model>, topK?: number) => () =>
      buildGraph(model(rest), { batch: 2, mode: 'evaluate', ...(topK !== undefined && { topK }) })
    await refused('INVALID_MODEL', predict({ labelSmoothing: 1 }), 'labelSmoothing', '1')
    await refused('INVALID_MODEL', predict({ labelSmoothing: 0.1, loss: 'meanSquaredError' }), 'labelSmoothing', 'meanSquaredError')
    for (const classWeights of [[1, -1, 1], [0, 0, 0], [1, NaN, 1], 'balanced' as unknown as number[]])
      await refused('INVALID_MODEL', predict({ classWeights }), 'classWeights', 'use a list of numbers of at least 0')
    await refused('SHAPE_MISMATCH', predict({ classWeights: [1, 2] }), 'classWeights: received 2 numbers', 'each of the 3 classes')
    await refused('INVALID_MODEL', predict({ classWeights: [1, 1, 1], loss: 'meanSquaredError' }), 'classWeights', 'meanSquaredError')
    const weighed = (positiveWeights: number | number[], loss: Model['loss'] = 'binaryCrossEntropy') => predict({ positiveWeights, loss })
    await refused('INVALID_MODEL', weighed(-1), 'positiveWeights: received -1')
    await refused('INVALID_MODEL', weighed(2, 'softmaxCrossEntropy'), 'positiveWeights: received 2 under softmaxCrossEntropy')
    await refused('SHAPE_MISMATCH', weighed([1, 2]), 'positiveWeights: received 2 numbers', 'each of the 3 labels')
    await refused('INVALID_OPTION', predict({ loss: 'binaryCrossEntropy' }, 5), 'topK', 'binaryCrossEntropy')
    await refused('INVALID_MODEL', predict({ labelSmoothing: '0.1' as unknown as number }), 'labelSmoothing', '"0.1"')
    await refused('INVALID_OPTION', predict({}, 0), 'topK', '0')
    await refused('INVALID_OPTION', predict({}, 3), 'topK: received 3; use less than the 3 classes')
    expect(predict({}, 2)).not.to.throw()
  })
})
