import { expect } from 'chai'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DatasetSpec } from '../../../src/engine/contract.js'
import { openData } from '../../../src/data/open.js'
import { encodeTexts } from '../../../src/data/texts/encode-texts.js'
import { Tokenizer } from '../../../src/formats/tokenizer/tokenizer.js'
import { SMALL_SIZE, smallTokenizer } from '../../formats/support/small-tokenizer.js'
import { refused } from '../../support/codes.js'
import { Folder } from '../support/files.js'
import { datasetFromTexts } from '../../../src/data/datasets.js'

const LINES = Array.from({ length: 20 }, (_, i) => ({
  words: i % 2 === 0 ? `é no ${i}` : `yes ${i}`,
  opinion: i % 2 === 0 ? 'bad' : 'good'
}))
const csv = ['words,opinion', ...LINES.map(({ words, opinion }) => `${words},${opinion}`)].join('\n')

describe('datasetFromTexts', () => {
  let folder: Folder
  before(async () => (folder = await Folder.make()))
  after(() => folder[Symbol.asyncDispose]())
  const write = (name: string, content: string | Uint8Array) => folder.write(name, Buffer.from(content))

  /** The texts of a data set, by its tokens. */
  const textsIn = (samples: ArrayLike<number>, length: number) =>
    Array.from({ length: samples.length / length }, (_, i) => {
      const bytes = Uint8Array.from(Array.from(samples).slice(i * length, (i + 1) * length))
      return new TextDecoder().decode(bytes).replace(/\0+$/, '')
    })

  it('has the bytes of a column of texts with the classes of another, and holds out some of each', async () => {
    const data = await datasetFromTexts({
      file: await write('rows.csv', csv),
      text: 'words',
      target: 'opinion',
      length: 8,
      testFraction: 0.2
    })
    expect([data.sample, data.classes, data.classNames]).to.deep.equal([[8], 2, ['bad', 'good']])
    expect([data.train.count, data.test.count]).to.deep.equal([16, 4])
    expect(Array.from(data.test.labels!).sort((a, b) => a - b)).to.deep.equal([0, 0, 1, 1])
    const all = [data.train, data.test].flatMap(({ samples, labels }) => textsIn(samples, 8).map((text, i) => `${text}:${labels![i]}`))
    expect(all).to.have.members(LINES.map(({ words, opinion }) => `${words}:${opinion === 'bad' ? 0 : 1}`))
    expect(data.columns!.map(({ kind }) => kind)).to.deep.equal(['text', 'target'])
    expect(data.encoding).to.deep.equal({ kind: 'bytes', column: 'words', length: 8, target: { kind: 'classes', name: 'opinion' } })
  })

  it('cuts long texts, and has zeros behind the end of short ones', () => {
    expect([...encodeTexts({ length: 4 }, ['ab', 'abcdef', '', 'aé€', 'a\0b'])]).to.deep.equal([
      97, 98, 0, 0, 97, 98, 99, 100, 0, 0, 0, 0, 97, 0xc3, 0xa9, 0, 97, 32, 98, 0
    ])
  })

  it('encodes a new text without the blanks around it, as those of the training', async () => {
    const { encoding, train } = await datasetFromTexts({
      file: await write('blanks.csv', ['words,opinion', ...LINES.map(({ opinion }) => `"  a bc \n",${opinion}`)].join('\n')),
      text: 'words',
      target: 'opinion',
      length: 8
    })
    for (const text of ['a bc', 'a bc\n', `${'\n'.repeat(20)}a bc`])
      expect(encodeTexts(encoding, [text])).to.deep.equal(train.samples.slice(0, 8))
  })

  it('looks at the beginning of a file behind the blanks, however many', async () => {
    const beginnings = ['', '\uFEFF', ' \n'.repeat(40), '\uFEFF\u3000\t'.padEnd(11), '\u3000'.repeat(7)]
    for (const each of ['one', 'two']) {
      await mkdir(join(folder.path, 'behind', each), { recursive: true })
      for (const [i, beginning] of beginnings.entries())
        await writeFile(join(folder.path, 'behind', each, `${i}.txt`), `${beginning}a text of a file \n`)
    }
    await writeFile(join(folder.path, 'behind', 'two', 'none.txt'), '\n'.repeat(50))
    const { train, test } = await datasetFromTexts({ file: join(folder.path, 'behind'), length: 8 })
    const texts = [train, test].flatMap(({ samples }) => textsIn(samples, 8))
    expect(texts.sort()).to.deep.equal(['', ...Array.from({ length: 10 }, () => 'a text o')])
  })

  it('cuts a text of a file among its blanks as a new one, and not where nothing else follows', async () => {
    const texts = [`a${' '.repeat(5000)}b`, `c${'\u3000'.repeat(5000)}`, `d${' '.repeat(20)}\u3000e`]
    for (const each of ['one', 'two']) {
      await mkdir(join(folder.path, 'among', each), { recursive: true })
      for (const [i, text] of texts.entries()) await writeFile(join(folder.path, 'among', each, `${i}.txt`), text)
    }
    const { train, test, encoding } = await datasetFromTexts({ file: join(folder.path, 'among'), length: 8 })
    const rows = (samples: ArrayLike<number>) =>
      Array.from({ length: samples.length / 8 }, (_, i) =>
        Array.from(samples)
          .slice(8 * i, 8 * i + 8)
          .join()
      )
    const found = new Set([train, test].flatMap(({ samples }) => rows(samples)))
    expect([...found].sort()).to.deep.equal(rows(encodeTexts(encoding, texts)).sort())
  })

  it('has the tokens of a tokenizer, each plus 1, whole texts and cut ones, of a table and of a folder', async () => {
    const tokenizer = await write('tokenizer.json', smallTokenizer())
    const rows = ['words,opinion', ...LINES.map(({ opinion }, i) => `the hand and the other ${i},${opinion}`)].join('\n')
    const data = await datasetFromTexts({ file: await write('pairs.csv', rows), text: 'words', target: 'opinion', length: 6, tokenizer })
    const known = Tokenizer.of({ json: smallTokenizer() }, 'small')
    const wanted = known.encode('the hand and the other').slice(0, 6)
    expect(Array.from(data.train.samples.slice(0, 6), (token) => token - 1)).to.deep.equal(wanted)
    expect(wanted.length).to.be.below('the hand and the other'.length)
    expect(data.encoding).to.deep.include({ kind: 'tokens', tokens: SMALL_SIZE + 1, length: 6, column: 'words' })
    const encoded = [...encodeTexts(data.encoding, ['the', '', 'and the'.repeat(9)])]
    expect(encoded.slice(0, 12)).to.deep.equal([known.encode('the')[0]! + 1, ...Array.from({ length: 11 }, () => 0)])
    expect(encoded.slice(12).every((token) => token > 0)).to.equal(true)
    for (const [i, { opinion }] of LINES.entries()) {
      await mkdir(join(folder.path, 'pairs', opinion), { recursive: true })
      await writeFile(join(folder.path, 'pairs', opinion, `${i}.txt`), `the hand and the other ${i}`)
    }
    const files = await openData(join(folder.path, 'pairs'), { context: 6, tokenizer })
    expect(Array.from((files.train as DatasetSpec).samples.slice(0, 6), (token) => token - 1)).to.deep.equal(wanted)
  })

  it('refuses a tokenizer that is none, and one with other tokens than the encoding says', async () => {
    const file = await write('rows.csv', csv)
    const options = { file, text: 'words', target: 'opinion' }
    await refused('DATA_CORRUPT', async () => datasetFromTexts({ ...options, tokenizer: await write('none.json', '{}') }), 'none.json')
    await refused('DATA_NOT_FOUND', () => datasetFromTexts({ ...options, tokenizer: join(folder.path, 'absent.json') }), 'absent.json')
    const wrong = { length: 4, tokenizer: { json: smallTokenizer() }, tokens: 9 }
    await refused('DATA_CORRUPT', async () => encodeTexts(wrong, ['a']), 'expected 8 tokens')
  })

  it('reads JSON Lines, and a folder of texts for each class', async () => {
    const lines = LINES.map((line) => JSON.stringify(line)).join('\n')
    const file = await write('rows.jsonl', lines)
    const table = await openData(file, { table: { text: 'words', target: 'opinion', ignore: [] }, context: 8 })
    for (const [i, { words, opinion }] of LINES.entries()) {
      await mkdir(join(folder.path, 'folder', opinion), { recursive: true })
      await writeFile(join(folder.path, 'folder', opinion, `${i}.txt`), `${words}\n`)
    }
    const data = await openData(join(folder.path, 'folder'), { context: 8 })
    expect([data.classNames, data.sample, data.train.count, data.test.count]).to.deep.equal([['bad', 'good'], [8], 18, 2])
    expect([table.classNames, table.sample, table.train.count, table.test.count]).to.deep.equal([['bad', 'good'], [8], 18, 2])
    for (const [option, value] of Object.entries({ target: 'opinion', task: 'classes', delimiter: ';', ignore: ['words'] }))
      await refused('INVALID_OPTION', () => openData(join(folder.path, 'folder'), { table: { [option]: value } }), `table.${option}`)
    // Beside a column of texts no other column counts; without one there is no context.
    const ofTexts = { text: 'words', target: 'opinion' }
    await refused('INVALID_OPTION', () => openData(file, { table: { ...ofTexts, categories: ['words'] } }), 'table.categories')
    await refused('INVALID_OPTION', () => openData(file, { table: { target: 'opinion' }, context: 8 }), 'context', '(--text)')
  })

  it('takes numbers as targets', async () => {
    const stars = ['words,stars', ...LINES.map(({ words }, i) => `${words},${i / 4}`)].join('\n')
    const { classes, train, encoding } = await datasetFromTexts({ file: await write('stars.csv', stars), text: 'words', target: 'stars' })
    expect([classes, train.target]).to.deep.equal([0, [1]])
    expect(encoding.target).to.include({ kind: 'number', name: 'stars' })
  })

  it('refuses columns that are not there, texts without text, and other bytes than UTF-8', async () => {
    const file = await write('rows.csv', csv)
    await refused('UNKNOWN_NAME', () => datasetFromTexts({ file, text: 'review', target: 'opinion' }), 'text', 'words')
    await refused('UNKNOWN_NAME', () => datasetFromTexts({ file, text: 'words', target: 'stars' }), 'target', 'opinion')
    await refused('INVALID_OPTION', () => datasetFromTexts({ file, text: 'words', target: 'words' }), 'text', 'another column')
    await refused('INVALID_OPTION', () => datasetFromTexts({ file, target: 'opinion' }), 'text', 'name the column')
    const blank = await write('blank.csv', 'words,opinion\n,a\n,b\n')
    await refused('DATA_CORRUPT', () => datasetFromTexts({ file: blank, text: 'words', target: 'opinion' }), 'no text in any row')
    for (const name of ['one', 'two']) {
      await mkdir(join(folder.path, 'latin', name), { recursive: true })
      for (const each of ['a', 'b']) await writeFile(join(folder.path, 'latin', name, `${each}.txt`), Uint8Array.of(0x61, 0xe9, 0x62))
    }
    await refused('DATA_CORRUPT', () => datasetFromTexts({ file: join(folder.path, 'latin') }), '.txt', 'UTF-8')
    await refused('DATA_NOT_FOUND', () => datasetFromTexts({ file: join(folder.path, 'none') }), 'none')
  })
})
