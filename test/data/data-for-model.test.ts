import { expect } from 'chai'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openDataForModel } from '../../src/data/data-for-model.js'
import { datasetFromTexts } from '../../src/data/datasets.js'
import type { DatasetSpec } from '../../src/engine/contract.js'
import { smallTokenizer } from '../formats/support/small-tokenizer.js'
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
})
