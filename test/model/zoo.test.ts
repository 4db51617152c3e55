import { expect } from 'chai'
import { buildGraph, parameterCount } from '../../src/model/graph-builder.js'
import { parametersOf } from '../../src/model/graph.js'
import { modelNamed, resnet, zoo } from '../../src/model/zoo/index.js'
import { thrown } from '../support/thrown.js'

const mnist = { input: [1, 28, 28], classes: 10 }
const cifar = { input: [3, 32, 32], classes: 10 }

describe('the zoo', () => {
  // Figures of the papers: LeNet's from Caffe's tutorial, the ResNets' from He et al., table 6, to the number.
  const counts: readonly [string, typeof mnist, number][] = [
    ['logistic-regression', mnist, 7_850],
    ['mlp', mnist, 235_146],
    ['lenet', mnist, 431_080],
    ['resnet20', cifar, 269_722],
    ['resnet32', cifar, 464_154],
    ['resnet44', cifar, 658_586],
    ['resnet56', cifar, 853_018],
    ['resnet110', cifar, 1_727_962]
  ]
  for (const [name, shape, count] of counts)
    it(`${name} has ${count} parameters`, () => {
      expect(parameterCount(modelNamed(name, shape))).to.equal(count)
    })

  it('has a figure above for every model', () => {
    expect(Object.keys(zoo)).to.have.members(counts.map(([name]) => name))
  })

  it("gives shortcut B's blocks a projection where the shape changes", () => {
    const model = resnet(cifar, { depth: 20, shortcut: 'B' })
    const names = parametersOf(buildGraph(model, { batch: 1, mode: 'predict' })).map(({ name }) => name)
    expect(names.filter((name) => name.includes('shortcut'))).to.deep.equal(
      ['layer2.0', 'layer3.0'].flatMap((block) => ['0.weight', '1.weight', '1.bias'].map((suffix) => `${block}.shortcut.${suffix}`))
    )
    expect(parameterCount(model)).to.equal(269_722 + 16 * 32 + 2 * 32 + 32 * 64 + 2 * 64)
  })

  it('fits other shapes', () => {
    for (const name of Object.keys(zoo)) {
      const graph = buildGraph(modelNamed(name, { input: [2, 24, 20], classes: 7 }), { batch: 3, mode: 'train' })
      expect(graph.values[graph.named.output!]!.shape, name).to.deep.equal([3, 7])
    }
  })

  it('refuses a name it does not have, with those it has', () => {
    const error = thrown(() => modelNamed('alexnet', cifar))
    expect(error.code).to.equal('UNKNOWN_NAME')
    expect(error.message).to.include('"alexnet"').and.to.include('resnet20')
    expect(thrown(() => modelNamed('toString', cifar)).code).to.equal('UNKNOWN_NAME')
  })

  it('refuses a depth that is not 6n+2', () => {
    expect(thrown(() => resnet(cifar, { depth: 18 })).message).to.include('depth: received 18')
  })
})
