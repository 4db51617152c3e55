import { join } from 'node:path'
import { expect } from 'chai'
import type { ImportOptions } from '../../src/formats/import-options.js'
import { matchTensors } from '../../src/formats/import-weights.js'
import { writeSafetensors, type SafetensorsFile } from '../../src/formats/safetensors.js'
import type { Tensor } from '../../src/formats/tensor.js'
import { predictionGraph } from '../../src/model/graph-builder.js'
import { parametersOf } from '../../src/model/graph.js'
import { initialParameters } from '../../src/model/initialise.js'
import { batchNorm2d, conv2d, defineModel, globalAvgPool, linear } from '../../src/model/layers.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'
import { smallZoo } from '../support/zoo.js'
import { expectReadBack } from './support/read-back.js'
import { importWeights } from '../../src/formats/model-files.js'

const model = defineModel({
  name: 'small',
  input: [1, 4, 4],
  layers: [conv2d(2, 3, { name: 'conv', bias: false }), batchNorm2d({ name: 'bn' }), globalAvgPool(), linear(3, { name: 'fc' })]
})
const graph = predictionGraph(model)

function counted(shape: readonly number[], from: number): Tensor<Float32Array> {
  return { shape, data: Float32Array.from({ length: shape.reduce((product, extent) => product * extent, 1) }, (_, i) => from + i) }
}

/** As `state_dict()` of the same network gives it. */
function stateDict(): Record<string, Tensor> {
  return {
    'conv.weight': counted([2, 1, 3, 3], 100),
    'bn.weight': counted([2], 200),
    'bn.bias': counted([2], 300),
    'bn.running_mean': counted([2], 400),
    'bn.running_var': counted([2], 500),
    'bn.num_batches_tracked': { shape: [], data: BigInt64Array.of(7n) },
    'fc.weight': counted([3, 2], 600),
    'fc.bias': counted([3], 700)
  }
}

const ALL = [...counted([18], 100).data, 200, 201, 300, 301, 600, 601, 602, 603, 604, 605, 700, 701, 702]

describe('importing weights', function () {
  this.timeout(60_000)
  let folder: Folder
  let file: string
  before(async () => {
    folder = await Folder.make()
    file = join(folder.path, 'pytorch.safetensors')
  })
  after(() => folder[Symbol.asyncDispose]())

  const importing = async (tensors: Readonly<Record<string, Tensor>>, options?: ImportOptions) => {
    await writeSafetensors(file, Object.entries(tensors).toReversed(), { sync: false })
    return importWeights(file, model, options)
  }

  it('refuses numbers that are not finite, in weights and in statistics, and names the element', async () => {
    for (const [name, value] of [
      ['fc.weight', NaN],
      ['bn.running_var', -Infinity]
    ] as const) {
      const tensors = stateDict()
      tensors[name]!.data[1] = value
      await refused('DATA_CORRUPT', () => importing(tensors), `tensor ${name}`, `found ${value} as element 1`)
      if (name === 'fc.weight') expect((await importing(tensors, { reinitialise: ['fc'] })).initialised).to.include(name)
    }
  })

  it('refuses doubles that float32 cannot hold', async () => {
    const { shape, data } = stateDict()['fc.bias'] as Tensor<Float32Array>
    const importingDouble = (value: number) =>
      importing({ ...stateDict(), 'fc.bias': { shape, data: Float64Array.from(data).with(1, value) } })
    for (const value of [1e39, -3.5e38])
      await refused(
        'DATA_CORRUPT',
        () => importingDouble(value),
        'tensor fc.bias',
        'finite numbers of float32',
        `found ${value} as element 1`
      )
    expect((await importingDouble(-3.4e38)).parameters.at(-2)).to.equal(Math.fround(-3.4e38))
  })

  it('puts PyTorch names and layouts in canonical order', async () => {
    const { parameters, statistics, loaded, initialised, unused } = await importing(stateDict())
    expect([...parameters]).to.deep.equal(ALL)
    expect(statistics).to.deep.equal({ 'bn.runningMean': Float32Array.of(400, 401), 'bn.runningVariance': Float32Array.of(500, 501) })
    expect(loaded).to.have.members([...parametersOf(graph).map(({ name }) => name), ...Object.keys(statistics)])
    expect([initialised, unused]).to.deep.equal([[], []])
  })

  it('passes over what a family leaves out, such as the auxiliary classifier of Inception-v3, and nothing else', async () => {
    const inception = modelNamed('inception_v3', { input: [3, 75, 75], classes: 3 })
    const { values } = predictionGraph(inception)
    const wanted = values.filter(({ role, name }) => role === 'parameter' || (role === 'statistic' && !name.endsWith('.count')))
    const fileWith = (more: string) => ({
      path: 'a file',
      tensors: new Map([
        ...wanted.map(({ name, shape }) => [name, { type: 'F32', shape }] as const),
        [more, { type: 'F32', shape: [1] }] as const
      ]) as unknown as SafetensorsFile['tensors'],
      read: () => Promise.reject(new Error('nothing is read'))
    })
    expect((await matchTensors(fileWith('AuxLogits.fc.bias'), inception)).unused).to.deep.equal([])
    await refused(
      'SHAPE_MISMATCH',
      () => matchTensors(fileWith('Logits.fc.bias'), inception),
      'Logits.fc.bias of the file is not in the model'
    )
  })

  it('converts other floats', async () => {
    const single = stateDict()['fc.bias'] as Tensor<Float32Array>
    const double = { shape: single.shape, data: Float64Array.from(single.data, (value) => value + 1e-12) }
    expect([...(await importing({ ...stateDict(), 'fc.bias': double })).parameters]).to.deep.equal(ALL)
  })

  it('passes over what stands before all names, as PyTorch wraps a model', async () => {
    for (const prefix of ['module.', '_orig_mod.', 'module._orig_mod.']) {
      const wrapped = Object.fromEntries(Object.entries(stateDict()).map(([name, tensor]) => [prefix + name, tensor]))
      const { parameters, statistics, unused } = await importing(wrapped)
      expect([...parameters]).to.deep.equal(ALL)
      expect([...statistics['bn.runningMean']!]).to.deep.equal([400, 401])
      expect(unused).to.deep.equal([])
      await refused('SHAPE_MISMATCH', () => importing({ ...wrapped, 'fc.bias': counted([3], 0) }), `${prefix}fc.bias of the file`)
      const other = { 'conv.weight': `${prefix}conv.weight` }
      await refused('SHAPE_MISMATCH', () => importing(wrapped, { names: other }), `${prefix}fc.bias of the file is not in the model`)
    }
  })

  it('translates names by a record or a function', async () => {
    const prefixed = Object.fromEntries(
      Object.entries(stateDict()).map(([name, tensor]) => [`module.${name.replace('fc.', 'head.')}`, tensor])
    )
    const byFunction = await importing(prefixed, { names: (name) => name.replace('module.', '').replace('head.', 'fc.') })
    expect([...byFunction.parameters]).to.deep.equal(ALL)
    const record = Object.fromEntries(Object.keys(prefixed).map((name) => [name, name.replace('module.', '').replace('head.', 'fc.')]))
    const byRecord = await importing(prefixed, { names: record })
    expect([...byRecord.parameters]).to.deep.equal(ALL)
    expect(byRecord.statistics).to.deep.equal(byFunction.statistics)
    const left = await importing({ ...stateDict(), extra: counted([1], 0) }, { names: (name) => (name === 'extra' ? undefined : name) })
    expect(left.unused).to.deep.equal([])
  })

  it('gives a replaced head its initial values, whatever the file has', async () => {
    const initial = [...initialParameters(graph, 9)].slice(-9)
    for (const [weight, bias] of [
      [counted([5, 2], 0), counted([5], 0)],
      [stateDict()['fc.weight']!, stateDict()['fc.bias']!]
    ] as const) {
      const imported = await importing({ ...stateDict(), 'fc.weight': weight, 'fc.bias': bias }, { reinitialise: ['fc'], seed: 9 })
      expect([...imported.parameters]).to.deep.equal([...ALL.slice(0, -9), ...initial])
      expect(imported.initialised).to.deep.equal(['fc.weight', 'fc.bias'])
    }
  })

  it('starts a batch norm anew with its statistics', async () => {
    const { statistics, parameters } = await importing(stateDict(), { reinitialise: ['bn'] })
    expect(statistics).to.deep.equal({ 'bn.runningMean': new Float32Array(2), 'bn.runningVariance': Float32Array.of(1, 1) })
    expect([...parameters.subarray(18, 22)]).to.deep.equal([1, 1, 0, 0])
  })

  it('tells of every fault at once', async () => {
    const { 'fc.bias': _, ...rest } = stateDict()
    const tensors = {
      ...rest,
      'fc.weight': counted([2, 3], 0),
      'bn.weight': { shape: [2], data: Int32Array.of(1, 2) },
      extra: counted([1], 0)
    }
    const names = (name: string): string => (name === 'bn.running_var' ? 'bn.runningMean' : name)
    const error = await refused(
      'SHAPE_MISMATCH',
      () => importing(tensors, { names }),
      file,
      'small',
      'names',
      '--reinitialise',
      '--no-strict'
    )
    expect(error.data['faults']).to.have.members([
      'fc.weight is [2,3] in the file and [3,2] in the model',
      'bn.weight has elements of type I32; the model needs floats',
      'bn.runningMean is both bn.running_var and bn.running_mean of the file',
      'fc.bias is not in the file',
      'bn.runningVariance is not in the file',
      'extra of the file is not in the model'
    ])
  })

  it('ignores missing and unused tensors when it is not strict, but never a wrong shape', async () => {
    const { 'fc.bias': _, ...rest } = stateDict()
    const imported = await importing({ ...rest, extra: counted([1], 0) }, { strict: false })
    expect([imported.initialised, imported.unused]).to.deep.equal([['fc.bias'], ['extra']])
    expect([...imported.parameters.subarray(0, -3)]).to.deep.equal(ALL.slice(0, -3))
    const wrong = { ...rest, 'fc.weight': counted([2, 3], 0) }
    await refused('SHAPE_MISMATCH', () => importing(wrong, { strict: false }), 'fc.weight is [2,3]')
  })

  it('refuses a fresh layer that the model does not have', async () => {
    for (const fresh of ['f', 'f*.x', '.*c'])
      await refused('UNKNOWN_NAME', () => importing(stateDict(), { reinitialise: [fresh] }), `"${fresh}"`, 'fc.weight')
  })

  it('takes a pattern for fresh layers', async () => {
    expect((await importing(stateDict(), { reinitialise: ['*c*.bias'] })).initialised).to.deep.equal(['fc.bias'])
    expect((await importing(stateDict(), { reinitialise: ['f*'] })).initialised).to.deep.equal(['fc.weight', 'fc.bias'])
  })

  it('spells out a dozen faults, and counts the others', async () => {
    const deep = modelNamed('resnet20', { input: [1, 28, 28], classes: 10 })
    await writeSafetensors(file, Object.entries(stateDict()), { sync: false })
    const error = await refused('SHAPE_MISMATCH', () => importWeights(file, deep), 'of its tensors', 'more; translate')
    expect(error.message.length).to.be.below(1200)
    expect((error.data['faults'] as string[]).length).to.be.above(50)
  })

  for (const saved of smallZoo) it(`reads a saved ${saved.name} back exactly`, () => expectReadBack(saved, file))
})
