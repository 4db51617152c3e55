import { expect } from 'chai'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { tokenise } from '../../src/data/characters.js'
import { openDataset } from '../../src/data/open.js'
import { refused } from '../support/codes.js'
import { requireData } from '../support/data.js'
import { SMALL_SIZE, smallTokenizer } from '../formats/support/small-tokenizer.js'
import { Folder } from './support/files.js'
import { datasetFromText } from '../../src/data/datasets.js'

const RHYME = 'jack and jill went up the hill to fetch a pail of water; jack fell down and broke his crown, and jill came after. '

describe('datasetFromText', () => {
  it('has the characters by their token and holds out the end', async () => {
    const { name, sample, classes, classNames, train, test } = await datasetFromText({ text: 'abéa😀'.repeat(20), context: 4 })
    expect([name, sample, classes]).to.deep.equal(['text', [4], 4])
    expect(classNames).to.deep.equal(['a', 'b', 'é', '😀'])
    expect(Array.from(train.samples.slice(0, 5))).to.deep.equal([0, 1, 2, 0, 3])
    expect([train.samples.length, test.samples.length]).to.deep.equal([90, 10])
    // Each window needs the character after its last.
    expect([train.count, test.count, train.stride]).to.deep.equal([22, 2, 4])
  })

  it('takes a tokenizer with more tokens than the model, unless the text has one of those', async () => {
    const added = [{ id: SMALL_SIZE, content: '<pad>' }]
    const tokenizer = { json: smallTokenizer({ added_tokens: added }) }
    const opened = (text: string, vocabulary?: number) =>
      datasetFromText({ text: text.repeat(20), context: 4, tokenizer, ...(vocabulary && { vocabulary }) })
    const { classes, encoding } = await opened('the other and ', SMALL_SIZE)
    expect([classes, (encoding as { vocabulary: number }).vocabulary]).to.deep.equal([SMALL_SIZE, SMALL_SIZE])
    expect([(await opened('the <pad>')).classes, (await opened('the <pad>', SMALL_SIZE + 9)).classes]).to.deep.equal([
      SMALL_SIZE + 1,
      SMALL_SIZE + 9
    ])
    await refused('SHAPE_MISMATCH', () => opened('the <pad>', SMALL_SIZE), `its token ${SMALL_SIZE} ("<pad>")`, `${SMALL_SIZE} tokens`)
  })

  it('reads a file in UTF-8 and says what is wrong with another', async () => {
    await using folder = await Folder.make()
    await folder.write('rhyme.txt', Buffer.from(RHYME))
    const { name, classes } = await datasetFromText({ file: `${folder.path}/rhyme.txt`, context: 8 })
    expect([name, classes]).to.deep.equal(['rhyme.txt', new Set(RHYME).size])
    await folder.write('latin.txt', Buffer.from([0x61, 0xe9, 0x62]))
    await refused('DATA_CORRUPT', () => datasetFromText({ file: `${folder.path}/latin.txt` }), 'latin.txt', 'UTF-8')
    await refused('DATA_NOT_FOUND', () => datasetFromText({ file: `${folder.path}/none.txt` }), 'none.txt')
  })

  it('takes a file in pieces, whatever characters their ends cut through', async () => {
    await using folder = await Folder.make()
    // Three bytes each, so that a piece of 2^20 bytes ends within one.
    await folder.write('long.txt', Buffer.from('€'.repeat(400_000) + 'a😀'.repeat(200_000)))
    const { classNames, train, test } = await datasetFromText({ file: `${folder.path}/long.txt`, context: 8 })
    expect(classNames).to.deep.equal(['a', '€', '😀'])
    expect(train.samples.length + test.samples.length).to.equal(800_000)
    const middle = train.samples.slice(399_998, 400_004)
    expect(Array.from(middle)).to.deep.equal([1, 1, 0, 2, 0, 2])
  })

  it('costs few bytes a character', async () => {
    const characters = 2 ** 24
    const script = `
      import { tokenise } from ${JSON.stringify(new URL('../../src/data/characters.js', import.meta.url).href)}
      const { tokens, vocabulary } = await tokenise('long', () => ['abcdefgh'.repeat(${characters / 8})])
      console.log(tokens.length, vocabulary.length)`
    // A list of as many strings would need 8 bytes for each place alone.
    const small = ['--max-old-space-size=64', '--input-type=module', '--eval', script]
    const { stdout, stderr } = spawnSync(process.execPath, small, { encoding: 'utf8' })
    expect(stdout, stderr).to.equal(`${characters} 8\n`)
  })

  it('refuses a pipe and a device, and a text that is being written', async () => {
    await using folder = await Folder.make()
    const pipe = join(folder.path, 'pipe.txt')
    execFileSync('mkfifo', [pipe])
    await refused('DATA_NOT_FOUND', () => datasetFromText({ file: pipe }), pipe, 'not a file')
    await refused('DATA_NOT_FOUND', () => datasetFromText({ file: '/dev/zero' }), '/dev/zero', 'not a file')
    let walks = 0
    const growing = () => (walks++ === 0 ? ['abc'] : ['abc', 'd'])
    expect(await tokenise('growing', growing)).to.equal(undefined)
  })

  it('refuses what cannot be cut into windows', async () => {
    await refused('INVALID_OPTION', () => datasetFromText({}), 'text')
    await refused('INVALID_OPTION', () => datasetFromText({ text: RHYME, file: 'a' }), 'text')
    await refused('INVALID_OPTION', () => datasetFromText({ text: RHYME, context: 0 }), 'context')
    await refused('INVALID_OPTION', () => datasetFromText({ text: RHYME, context: 64 }), 'context', `${RHYME.length} characters`)
    await refused('INVALID_OPTION', () => datasetFromText({ text: 'a'.repeat(100), context: 4 }), 'text')
    await refused('INVALID_OPTION', () => datasetFromText({ text: RHYME, testFraction: 1 }), 'testFraction')
  })

  it('opens tinyshakespeare as published', async function () {
    const directory = requireData(this, 'tinyshakespeare')
    const { name, classes, train, test } = await openDataset('tinyshakespeare', { directory })
    expect([name, classes, train.samples.length + test.samples.length]).to.deep.equal(['tinyshakespeare', 65, 1_115_394])
    expect([train.count, test.count]).to.deep.equal([7842, 871])
    const narrow = await openDataset('tinyshakespeare', { directory, context: 64 })
    expect(narrow.sample).to.deep.equal([64])
    await refused('INVALID_OPTION', () => openDataset('digits', { context: 64 }), 'context')
  })
})
