import { expect } from 'chai'
import { datasetFromTable, datasetFromText } from '../../src/data/datasets.js'
import { datasetFromArrays } from '../../src/data/from-arrays.js'
import { defineModel, linear } from '../../src/model/layers.js'
import { gpt } from '../../src/model/zoo/index.js'
import { loadModel } from '../../src/trained/load-model.js'
import { Folder } from '../data/support/files.js'
import { savedOf } from '../formats/support/saved-of.js'
import { SMALL_MERGES, SMALL_VOCABULARY, smallTokenizer } from '../formats/support/small-tokenizer.js'
import { refused } from '../support/codes.js'

const NAMES = ['cat', 'dog', 'emu']

describe('A trained model is measured', () => {
  const samples = Float32Array.from({ length: 2 * 60 }, (_, i) => Math.sin(7 * i))
  const model = defineModel({ name: 'three', input: [2], layers: [linear(3)] })
  const data = (classNames: readonly string[], labelOf: (i: number) => number, count = 60) => {
    const some = samples.subarray(0, 2 * count)
    const arrays = { samples: some, labels: Array.from({ length: count }, (_, i) => labelOf(i)) }
    return datasetFromArrays({ ...arrays, test: arrays, sample: [2], classes: classNames.length, classNames })
  }

  it('with the number that it has for the name of a class', async () => {
    const trained = await loadModel(savedOf(model, { classNames: NAMES }))
    const { seconds: _, ...measured } = await trained.evaluate(data(NAMES, (i) => i % 3))
    const turned = ['emu', 'cat', 'dog']
    expect(await trained.evaluate(data(turned, (i) => turned.indexOf(NAMES[i % 3]!)))).to.deep.include(measured)
    const { testAccuracy } = await trained.evaluate(data(NAMES, (i) => 1 + (i % 2)))
    expect((await trained.evaluate(data(['dog', 'emu'], (i) => i % 2))).testAccuracy).to.equal(testAccuracy)
    // Other names may be those of the same classes in another language.
    expect(await trained.evaluate(data(['Katze', 'Hund', 'Emu'], (i) => i % 3))).to.deep.include(measured)
  })

  it('on the positions that have a class, of which each sample and each batch has another number', async () => {
    const [count, length] = [700, 4]
    const sequences = Float32Array.from({ length: count * length * 2 }, (_, i) => Math.sin(3 * i))
    const labels = Int32Array.from({ length: count * length }, (_, i) => ((i * i) % 4000 < (4000 * i) / (count * length) ? i % 3 : -1))
    const each = defineModel({ name: 'each', input: [length, 2], layers: [linear(3)] })
    const trained = await loadModel(savedOf(each, { classNames: NAMES }))
    const set = (classNames: readonly string[], numbers: Int32Array) => {
      const arrays = { samples: sequences, labels: numbers }
      return datasetFromArrays({ ...arrays, test: arrays, sample: [length, 2], label: [length], classes: 3, classNames })
    }
    const measured = await trained.evaluate(set(NAMES, labels))
    let [loss, right, counted] = [0, 0, 0]
    const outputs = trained.predict(sequences)
    for (const [at, label] of labels.entries()) {
      if (label < 0) continue
      const logits = outputs.subarray(3 * at, 3 * at + 3)
      loss += Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0)) - logits[label]!
      right += logits[label] === Math.max(...logits) ? 1 : 0
      counted++
    }
    expect(counted).to.be.within(1000, 2000)
    expect(measured.testLoss).to.be.closeTo(loss / counted, 1e-6)
    expect(measured.testAccuracy).to.be.closeTo(right / counted, 1e-12)
    const turned = ['emu', 'cat', 'dog']
    const renumbered = labels.map((label) => (label < 0 ? label : turned.indexOf(NAMES[label]!)))
    expect((await trained.evaluate(set(turned, renumbered))).testLoss).to.equal(measured.testLoss)
  })

  it('on no text of other characters', async () => {
    const text = (characters: string) => datasetFromText({ text: characters.repeat(40), context: 4 })
    const trained = await loadModel(
      savedOf(gpt({ input: [4], classes: 3 }, { layers: 1, heads: 1, width: 4 }), { classNames: ['a', 'b', 'c'] })
    )
    expect((await trained.evaluate(await text('abcab'))).samples).to.be.above(0)
    await refused('INVALID_OPTION', async () => trained.evaluate(await text('abdab')), 'its characters differ')
  })

  it('on no text of the tokens of another tokenizer', async () => {
    const text = (json: string) => datasetFromText({ text: 'the other and '.repeat(40), context: 4, tokenizer: { json } })
    const { encoding, classes } = await text(smallTokenizer())
    const trained = await loadModel(savedOf(gpt({ input: [4], classes }, { layers: 1, heads: 1, width: 4 }), { encoding: encoding! }))
    expect((await trained.evaluate(await text(smallTokenizer()))).samples).to.be.above(0)
    const turned = Object.fromEntries(Object.entries(SMALL_VOCABULARY).map(([token, i]) => [token, i < 256 ? 255 - i : i]))
    const other = smallTokenizer({ model: { type: 'BPE', unk_token: null, vocab: turned, merges: SMALL_MERGES } })
    await refused('INVALID_OPTION', async () => trained.evaluate(await text(other)), 'its tokens are not those', 'openDataForModel')
  })

  it('on no rows that were encoded otherwise than those of its training', async () => {
    await using folder = await Folder.make()
    const rows = (factor: number) => Array.from({ length: 40 }, (_, i) => `${factor * (i % 7)},${i % 2 ? 'yes' : 'no'}`).join('\n')
    const table = async (name: string, factor: number) =>
      datasetFromTable({ file: await folder.write(name, Buffer.from(`x,answer\n${rows(factor)}\n`)), target: 'answer' })
    const one = await table('one.csv', 1)
    const saved = savedOf(defineModel({ name: 'table', input: one.sample, layers: [linear(2)] }), {
      encoding: one.encoding,
      classNames: one.classNames!
    })
    const trained = await loadModel(saved)
    expect((await trained.evaluate(await table('again.csv', 1))).samples).to.be.above(0)
    await refused('INVALID_OPTION', async () => trained.evaluate(await table('ten.csv', 10)), 'ten.csv', 'openDataForModel')
  })
})
