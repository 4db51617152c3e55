import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { datasetFromText } from '../../src/data/datasets.js'
import { Folder } from '../data/support/files.js'
import { defineModel, linear } from '../../src/model/layers.js'
import { gpt } from '../../src/model/zoo/index.js'
import { loadModel } from '../../src/trained/load-model.js'
import { savedOf } from '../formats/support/saved-of.js'
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
