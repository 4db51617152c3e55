import { existsSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { datasetFromText } from '../../src/data/datasets.js'
import { Folder } from '../data/support/files.js'
import { defineModel, linear } from '../../src/model/layers.js'
import { gpt, textClassifier } from '../../src/model/zoo/index.js'
import { loadModel } from '../../src/trained/load-model.js'
import { savedOf } from '../formats/support/saved-of.js'
import { SMALL_SIZE, smallTokenizer } from '../formats/support/small-tokenizer.js'
import { refused } from '../support/codes.js'

describe('The options of a trained model', () => {
  const two = savedOf(defineModel({ name: 'two', input: [2], layers: [linear(2)] }))
  const sample = Float32Array.of(1, 2)

  it('of classify are refused where they are none', async () => {
    const model = await loadModel(two)
    expect(model.classify(sample, { top: 1 })).to.have.lengthOf(1)
    await refused(
      'INVALID_OPTION',
      () => model.classify(sample, { topK: 1 } as object),
      'topK: received 1; use only top; did you mean top?'
    )
    await refused('INVALID_OPTION', () => model.classify(sample, { top: 0 }), 'top: received 0; use a whole number of at least 1')
    await refused('INVALID_OPTION', () => model.classify(sample, null as never), 'options: received null; give an object')
  })

  it('refuse samples that are none by the name of the parameter', async () => {
    const model = await loadModel(two)
    for (const [given, ...told] of [
      [
        'three.png',
        'samples: received "three.png"; use a Float32Array or Uint8Array of whole samples, 2 numbers each; readImage makes one of an image'
      ],
      [
        Float32Array.of(1, 2, 3),
        'samples: received Float32Array of 3 numbers; use a Float32Array or Uint8Array of whole samples, 2 numbers each'
      ],
      [[1, 2], 'samples[0]: received 1; the model was trained on neither a table nor texts: give samples as a Float32Array']
    ] as const)
      await refused('INVALID_OPTION', () => model.classify(given as never), ...told)
  })

  it('refuse a single text or row in the place of a list, and a text in the place of tokens', async () => {
    const texts = savedOf(textClassifier({ input: [4], classes: 2 }, { layers: 1, heads: 1, width: 8 }))
    const target = { kind: 'classes', name: 'answer' } as const
    const ofTexts = await loadModel({ ...texts, encoding: { kind: 'bytes', length: 4, target } })
    await refused('INVALID_OPTION', () => ofTexts.classify('good' as never), 'samples: received "good"; give a list of texts')
    const columns = ['a', 'b'].map((name) => ({ kind: 'number', name, mean: 0, std: 1, missing: false }) as const)
    const ofRows = await loadModel({ ...two, encoding: { kind: 'table', columns, target } })
    await refused('INVALID_OPTION', () => ofRows.predict({ a: 1, b: 2 } as never), 'samples: received {"a":1,"b":2}; give a list of rows')
    const writer = savedOf(gpt({ input: [4], classes: SMALL_SIZE }, { layers: 1, heads: 1, width: 8 }))
    const tokenizer = { json: smallTokenizer() }
    const ofTokens = await loadModel({ ...writer, encoding: { kind: 'language', tokenizer, vocabulary: SMALL_SIZE, length: 4 } })
    await refused('INVALID_OPTION', () => ofTokens.predict(['the']), 'samples[0]: received "the"; give the ids of tokens', 'generate')
  })

  it('take samples and weights that are arrays of another realm', async () => {
    const foreign = <Data extends Float32Array | Uint8Array>(data: Data): Data =>
      runInNewContext(`${data[Symbol.toStringTag]}.from(numbers)`, { numbers: [...data] }) as Data
    const [own, saved] = [await loadModel(two), { ...two, normalisation: { mean: [0.1], std: [2] } }]
    const weights = Object.fromEntries(
      Object.entries(saved.weights).map(([name, { shape, data }]) => [name, { shape, data: foreign(data) }])
    )
    const model = await loadModel({ ...saved, weights })
    const same = await loadModel(saved)
    expect([...own.predict(foreign(sample))]).to.deep.equal([...own.predict(sample)])
    expect([...model.predict(foreign(Uint8Array.of(7, 200)))]).to.deep.equal([...same.predict(Uint8Array.of(7, 200))])
    const broken = foreign(Float32Array.of(1, NaN))
    await refused('INVALID_OPTION', () => own.predict(broken), 'samples[1]: received NaN')
  })

  it('of save are refused before anything is written', async () => {
    await using folder = await Folder.make()
    const model = await loadModel(two)
    const save = (options: object) => () => model.save(`${folder.path}/two.onnx`, options)
    await refused('INVALID_OPTION', save({ normalize: false }), 'normalize: received false; use the British spelling: normalise')
    await refused('INVALID_OPTION', save({ normalise: 'no' }), 'normalise: received "no"; use true or false')
    await refused('UNKNOWN_NAME', save({ format: 'onxn' }), 'format: received "onxn"; use one of huggingface, onnx, safetensors')
    expect(existsSync(`${folder.path}/two.onnx`)).to.equal(false)
  })

  it('of generate and evaluate are refused where they are none', async () => {
    const data = await datasetFromText({ text: 'abcabcabd '.repeat(20), context: 8 })
    const model = await loadModel(
      savedOf(gpt({ input: data.sample, classes: data.classes }, { layers: 1, heads: 2, width: 16 }), { classNames: data.classNames! })
    )
    expect(model.generate('abc', { length: 3, temperature: 0 })).to.have.lengthOf(3)
    await refused('INVALID_OPTION', () => model.generate('abc', { lenght: 3 } as object), 'lenght: received 3', 'did you mean length?')
    await refused(
      'INVALID_OPTION',
      () => model.generate('abc', { temperature: -1 }),
      'temperature: received -1; use a number of at least 0'
    )
    await refused('INVALID_OPTION', () => model.evaluate(data, { metric: ['f1'] } as object), 'metric: received ["f1"]; use only metrics')
  })
})
