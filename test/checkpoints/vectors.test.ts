import { join } from 'node:path'
import { expect } from 'chai'
import { readVectors } from '../../src/checkpoints/vectors.js'
import { SafetensorsFile, writeSafetensors } from '../../src/formats/safetensors.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'

describe("a checkpoint's vectors", () => {
  let folder: Folder
  before(async () => {
    folder = await Folder.make()
  })
  after(() => folder[Symbol.asyncDispose]())

  const countsOf = async (counts: string) => {
    const path = join(folder.path, 'group.safetensors')
    await writeSafetensors(path, [], { metadata: { counts } })
    await using file = await SafetensorsFile.open(path)
    return (await readVectors(file, [])).counts
  }

  it('come with their counts', async () => {
    expect(await countsOf('{"round":3,"own.1":2}')).to.deep.equal({ round: 3, 'own.1': 2 })
  })

  for (const text of ['', '{', 'null', '7', '[1]', '"x"', '{"round":null}', '{"round":0.5}'])
    it(`are refused with the counts ${JSON.stringify(text)}`, () => refused('DATA_CORRUPT', () => countsOf(text), 'metadata counts'))
})
