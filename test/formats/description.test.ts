import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { ArbalestError } from '../../src/errors.js'
import { DESCRIPTION, describe as described, parseDescription } from '../../src/formats/description.js'
import { readSafetensors, writeSafetensors } from '../../src/formats/safetensors.js'
import type { Layer } from '../../src/model/layer.js'
import { composed, concat, defineModel, flatten, linear, residual } from '../../src/model/layers.js'
import { checkModel, type Model } from '../../src/model/model.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'
import { thrown } from '../support/thrown.js'
import { deepZoo, smallZoo } from '../support/zoo.js'
import { randomTrainedModel } from './support/random-weights.js'
import { readModel, saveModel } from '../../src/formats/model-files.js'

const operator = composed(new URL('file:///nowhere/operator.js'))

describe('A description of a model', () => {
  for (const model of [...smallZoo, ...deepZoo])
    it(`is all that is needed to build ${model.name} again`, async () => {
      expect(await parseDescription(described(model), 'a file')).to.deep.equal(model)
    })

  it('is read back of every nesting that a model may have', async () => {
    const leaf = linear(4, { bias: false, initialiser: { kind: 'normal', std: 0.1 } })
    const nested = (blocks: number, block: (layer: Layer) => Layer): Model =>
      defineModel({ name: 'deep', input: [4], layers: [Array.from({ length: blocks }).reduce<Layer>(block, leaf)] })
    for (const block of [(layer: Layer) => residual({ body: [layer] }), (layer: Layer) => concat([[layer]])]) {
      const deepest = nested(63, block)
      expect(await parseDescription(described(deepest), 'a file')).to.deep.equal(deepest)
      expect(thrown(() => checkModel(nested(64, block))).code).to.equal('INVALID_MODEL')
    }
  })

  it('loads no code, however deep it is named', async () => {
    for (const layers of [[operator], [residual({ body: [residual({ body: [operator] })] })]]) {
      const model = defineModel({ name: 'own', input: [4], layers })
      await refused('UNSUPPORTED_OPERATOR', () => parseDescription(described(model), 'a file'), 'file:///nowhere/operator.js', '`model`')
    }
  })

  for (const [what, text] of Object.entries({
    'no JSON': '{',
    'another version': '{"version":2,"model":{}}',
    'no model': '{"version":1}',
    'a model without a name': '{"version":1,"model":{"input":[1],"layers":[]}}',
    'layers that are none': '{"version":1,"model":{"name":"x","input":[4],"layers":[null],"loss":"softmaxCrossEntropy"}}',
    'layers of a kind that does not exist':
      '{"version":1,"model":{"name":"x","input":[4],"layers":[{"kind":"magic"}],"loss":"softmaxCrossEntropy"}}',
    'shapes that do not fit': `{"version":1,"model":${JSON.stringify(defineModel({ name: 'x', input: [1, 2, 2], layers: [linear(2)] }))}}`,
    'nesting without end': `{"version":1,"model":${'['.repeat(10_000)}${']'.repeat(10_000)}}`
  }))
    it(`is refused with ${what}`, () => refused('DATA_CORRUPT', () => parseDescription(text, 'a file'), 'a file', DESCRIPTION))

  it('is refused with a code whatever is changed in it', async () => {
    const text = described(modelNamed('lenet', { input: [1, 28, 28], classes: 10 }))
    await fc.assert(
      fc.asyncProperty(fc.nat(text.length), fc.nat(4), fc.string({ maxLength: 6 }), async (at, length, put) => {
        try {
          await parseDescription(text.slice(0, at) + put + text.slice(at + length), 'a file')
        } catch (error) {
          expect(error).to.be.instanceOf(ArbalestError)
        }
      }),
      { numRuns: 300 }
    )
  })
})

describe('A model that is read', () => {
  const model = defineModel({ name: 'small', input: [1, 2, 2], layers: [flatten({}), linear(3, { name: 'fc' })] })
  const trained = randomTrainedModel(model)
  const saved = {
    model,
    weights: trained.weights(),
    statistics: trained.statistics(),
    normalisation: { mean: [0.25], std: [0.5] },
    classNames: ['a', 'b', '"c"']
  }
  let folder: Folder
  let file: string
  before(async () => {
    folder = await Folder.make()
    file = join(folder.path, 'model.safetensors')
  })
  after(() => folder[Symbol.asyncDispose]())
  beforeEach(() => saveModel(file, saved))

  it('is as it was saved, with no more said than the file', async () => {
    const { loaded, initialised, unused, ...read } = await readModel(file)
    expect(read).to.deep.equal(saved)
    expect(loaded).to.have.members(['fc.weight', 'fc.bias'])
    expect([initialised, unused]).to.deep.equal([[], []])
  })

  it('may have 40 blocks within one another', async () => {
    const body = (blocks: number): Layer => (blocks === 0 ? linear(4, { name: 'fc' }) : residual({ body: [body(blocks - 1)] }))
    const deep = defineModel({ name: 'deep', input: [4], layers: [body(40)] })
    const own = randomTrainedModel(deep)
    const kept = { ...saved, model: deep, weights: own.weights(), statistics: own.statistics(), classNames: ['a', 'b', 'c', 'd'] }
    await saveModel(file, kept)
    const { loaded, initialised, unused, ...read } = await readModel(file)
    expect(read).to.deep.equal(kept)
    expect([loaded.length, initialised, unused]).to.deep.equal([2, [], []])
  })

  it("takes the caller's model before its own, and the file's normalisation and names before the caller's", async () => {
    const other = { ...model, name: 'other' }
    const read = await readModel(file, { model: other, normalisation: { mean: [0], std: [1] }, classNames: ['x', 'y', 'z'] })
    expect([read.model.name, read.normalisation, read.classNames]).to.deep.equal(['other', saved.normalisation, saved.classNames])
  })

  it('has to be told where the file is somebody else’s', async () => {
    const { tensors } = await readSafetensors(file)
    await writeSafetensors(file, tensors)
    await refused('INVALID_OPTION', () => readModel(file), 'model: received none', file, '`model`', '--model NAME')
    const read = await readModel(file, { model, classNames: ['x', 'y', 'z'] })
    expect([read.normalisation, read.classNames]).to.deep.equal([{ mean: [], std: [] }, ['x', 'y', 'z']])
    expect(read.weights).to.deep.equal(saved.weights)
  })

  it('describes no more than its file has, whatever may start anew', async () => {
    const { tensors, metadata } = await readSafetensors(file)
    const layers = [flatten({}), linear(2 ** 30, { name: 'fc' }), linear(2 ** 30, { name: 'next' })]
    await writeSafetensors(file, tensors, { metadata: { ...metadata, [DESCRIPTION]: described({ ...model, layers }) } })
    for (const options of [{ strict: false }, { reinitialise: ['*'] }])
      await refused('DATA_CORRUPT', () => readModel(file, options), `metadata ${DESCRIPTION}`, '15, the elements of its tensors')
    await refused('OUT_OF_MEMORY', () => readModel(file, { model: { ...model, layers }, reinitialise: ['fc', 'next'] }), 'smaller model')
  })

  for (const metadata of [{ mean: '[0,' }, { mean: '["0"]' }, { std: '[0]' }, { std: '{}' }, { classes: '[1]' }])
    it(`is refused with ${JSON.stringify(metadata)}`, async () => {
      const { tensors } = await readSafetensors(file)
      await writeSafetensors(file, tensors, { metadata: { mean: '[0]', std: '[1]', ...metadata } })
      await refused('DATA_CORRUPT', () => readModel(file, { model }), `metadata ${Object.keys(metadata)[0]}`)
    })
})
