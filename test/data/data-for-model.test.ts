import { expect } from 'chai'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { openDataForModel, type ModelInput } from '../../src/data/data-for-model.js'
import { datasetFromTable, datasetFromTexts } from '../../src/data/datasets.js'
import type { DatasetSpec } from '../../src/engine/contract.js'
import { smallTokenizer } from '../formats/support/small-tokenizer.js'
import { refused } from '../support/codes.js'
import { Folder } from './support/files.js'

describe('openDataForModel', () => {
  let folder: Folder
  beforeEach(async () => (folder = await Folder.make()))
  afterEach(() => folder[Symbol.asyncDispose]())

  /** A folder with two files for each class. */
  async function classFolder(name: string, classes: readonly string[], ending: '.txt' | '.png'): Promise<string> {
    for (const each of classes) {
      await mkdir(join(folder.path, name, each), { recursive: true })
      for (const file of ['first', 'second']) await writeFile(join(folder.path, name, each, file + ending), `the ${file} ${each} hand`)
    }
    return join(folder.path, name)
  }

  it('says what it takes where a file is another one, such as a packed table', async () => {
    const packed = await folder.write('rows.csv.gz', gzipSync('a,b\n1,2\n'))
    const encoding = { kind: 'bytes', length: 8, target: { kind: 'classes', name: 'b' } } as const
    for (const model of [
      { name: 'm', input: [8], encoding },
      { name: 'm', input: [3, 8, 8] }
    ])
      await refused('INVALID_OPTION', () => openDataForModel(packed, model), 'data: received', 'it is a file', '.csv', 'unpacked')
    await refused('DATA_CORRUPT', () => datasetFromTable({ file: packed, target: 'b' }), 'found .gz; unpack it')
  })

  it('reads a folder of texts in the length and the tokens of the model', async () => {
    const path = await classFolder('texts', ['bad', 'good'], '.txt')
    const tokenizer = { json: smallTokenizer() }
    for (const options of [{ length: 8 }, { length: 300 }, { length: 6, tokenizer }]) {
      const { encoding, sample, classNames, test } = await datasetFromTexts({ file: path, ...options })
      const data = await openDataForModel(path, { name: 'm', input: sample, classNames, encoding })
      expect([data.sample, data.encoding]).to.deep.equal([sample, encoding])
      expect((data.test as DatasetSpec).samples).to.deep.equal(test.samples)
    }
  })

  for (const { kind, ending, input, encoding } of [
    {
      kind: 'texts',
      ending: '.txt',
      input: [8],
      encoding: { kind: 'bytes', length: 8, target: { kind: 'classes', name: 'class' } }
    },
    { kind: 'images', ending: '.png', input: [3, 8, 8], encoding: undefined }
  ] as const) {
    const open = async (classes: readonly string[], ofModel: readonly string[]) => {
      const model: ModelInput = { name: 'm', input, classNames: ofModel, encoding }
      return openDataForModel(await classFolder(classes.join('-'), classes, ending), model)
    }

    it(`refuses a folder of ${kind} with classes that the model does not have`, async () => {
      await refused('INVALID_OPTION', () => open(['excellent', 'poor'], ['bad', 'good']), 'data: received', '"excellent", "poor"')
      const { message } = await refused('INVALID_OPTION', () => open(['bad', 'fair', 'good'], ['bad', 'good']), '"fair"')
      expect(message).to.not.contain('lacks "bad"')
    })

    it(`takes the classes of a folder of ${kind} by their names, where it has some of the model's, or in another order`, async () => {
      const of = async (classes: readonly string[], ofModel: readonly string[]) => {
        const { classes: count, classNames, test } = await open(classes, ofModel)
        const labels = [...test.labels!]
        return [count, classNames, (test as DatasetSpec).classes, labels]
      }
      const three = ['bad', 'fair', 'good']
      expect(await of(['bad', 'good'], three)).to.deep.equal([3, three, 3, [0, 2]])
      expect(await of(['good'], three), 'one class alone').to.deep.equal([3, three, 3, [2]])
      const turned = ['good', 'bad']
      expect(await of(['bad', 'good'], turned)).to.deep.equal([2, turned, 2, [1, 0]])
    })
  }
})
