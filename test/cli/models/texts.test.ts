import { expect } from 'chai'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadModel } from '../../../src/trained/load-model.js'
import { Folder } from '../../data/support/files.js'
import { smallTokenizer } from '../../formats/support/small-tokenizer.js'
import { run } from '../support/arbalest.js'

/** The last letter tells the class, wherever the text ends. */
const LINES = Array.from({ length: 240 }, (_, i) => ({
  words: `${'abcdefgh'.slice((i >> 1) % 3, 3 + ((i >> 1) % 6))}${i % 2 === 0 ? 'x' : 'y'}`,
  kind: i % 2 === 0 ? 'cross' : 'fork'
}))

const FLAGS = [
  '--context',
  '12',
  '--layers',
  '1',
  '--heads',
  '2',
  '--width',
  '16',
  '--batch',
  '8',
  '--learners',
  '1',
  '--lr',
  '0.05',
  '--json'
]

describe('arbalest on texts with classes', () => {
  let folder: Folder
  let file: string
  let model: string
  before(async () => {
    folder = await Folder.make()
    file = await folder.write('words.csv', Buffer.from(['words,kind', ...LINES.map(({ words, kind }) => `${words},${kind}`)].join('\n')))
    model = join(folder.path, 'words.safetensors')
  })
  after(() => folder[Symbol.asyncDispose]())

  it('trains an encoder that tells them apart', async () => {
    const { code, lines, stderr } = await run(
      ['train', '--data', file, '--text', 'words', '--target', 'kind', '--epochs', '25', '--save', model].concat(FLAGS)
    )
    expect(code, stderr).to.equal(0)
    expect(lines.find(({ event }) => event === 'started')).to.include({ model: 'text-classifier', samples: 216 })
    expect(lines.at(-1)!['testAccuracy']).to.be.above(0.9)
  })

  it('refuses a model that takes no tokens, and a table for one that does, before it starts', async () => {
    const refusal = async (...flags: string[]) => {
      const { code, stdout, stderr } = await run(['train', '--data', file, '--target', 'kind', '--steps', '1', ...flags])
      expect([code, stdout]).to.deep.equal([1, ''])
      return stderr
    }
    expect(await refusal('--text', 'words', '--model', 'mlp')).to.match(
      /^SHAPE_MISMATCH: data .*: its samples are ids of tokens where model mlp takes numbers; begin it with an embedding/
    )
    const rows = Array.from({ length: 40 }, (_, i) => `${i % 7},${i % 2 ? 'yes' : 'no'}`).join('\n')
    const table = await folder.write('numbers.csv', Buffer.from(`x,kind\n${rows}`))
    expect(await refusal('--data', table, '--model', 'text-classifier')).to.match(
      /^SHAPE_MISMATCH: data numbers\.csv: its samples are numbers where model text-classifier takes ids of tokens; /
    )
  })

  it('classifies texts, and the rows of a table', async () => {
    const { lines, stderr } = await run(['predict', model, 'bcdx', 'bcdy', '--json'])
    expect(
      lines.map(({ text, classes }) => [text, (classes as { name: string }[])[0]!.name]),
      stderr
    ).to.deep.equal([
      ['bcdx', 'cross'],
      ['bcdy', 'fork']
    ])
    const { stdout } = await run(['predict', model, await folder.write('new.csv', Buffer.from('id,words\n1,abx\n2,aby\n'))])
    expect(stdout).to.match(/^id,words,predicted kind,probability\n1,abx,cross,0\.\d+\n2,aby,fork,0\.\d+\n$/)
    expect((await loadModel(model)).classify(['abcx'], { top: 1 })[0]![0]!.name).to.equal('cross')
  })

  it('takes the file of a text, and tells of a name that is mistyped', async () => {
    const text = await folder.write('letter.txt', Buffer.from('bcdy'))
    const { lines } = await run(['predict', model, text, 'bcdx', '--json'])
    expect(lines.map((line) => [line['file'] ?? line['text'], (line['classes'] as { name: string }[])[0]!.name])).to.deep.equal([
      [text, 'fork'],
      ['bcdx', 'cross']
    ])
    const { code, stdout, stderr } = await run(['predict', model, file.replace('.csv', '.cvs')])
    expect([code, stdout], stderr).to.deep.equal([2, ''])
    expect(stderr).to.match(/^INVALID_OPTION: inputs: received .* there is no such file; .* did you mean .*words\.csv\?\n$/)
  })

  it('measures on another table', async () => {
    const { lines, stderr } = await run(['eval', model, '--data', file, '--json'])
    expect(lines[0], stderr).to.include({ samples: 240 })
    expect(lines[0]!['testAccuracy']).to.be.above(0.9)
  })

  it('takes byte pairs of a tokenizer, which the saved model keeps', async () => {
    const tokenizer = await folder.write('tokenizer.json', Buffer.from(smallTokenizer()))
    const saved = join(folder.path, 'pairs.safetensors')
    const trained = await run(
      ['train', '--data', file, '--text', 'words', '--target', 'kind', '--tokenizer', tokenizer, '--epochs', '25', '--save', saved].concat(
        FLAGS
      )
    )
    expect(trained.code, trained.stderr).to.equal(0)
    expect(trained.lines.at(-1)!['testAccuracy']).to.be.above(0.9)
    await rm(tokenizer)
    expect((await loadModel(saved)).classify(['abcx', 'abcy'], { top: 1 }).map(([first]) => first!.name)).to.deep.equal(['cross', 'fork'])
    const { lines, stderr } = await run(['eval', saved, '--data', file, '--json'])
    expect(lines[0]!['testAccuracy'], stderr).to.be.above(0.9)
    const refusedTable = await run(['train', '--data', file, '--target', 'kind', '--tokenizer', tokenizer])
    expect(refusedTable.stderr).to.include('--tokenizer')
  })

  it('gives a text the same classes whatever length the model could take', async () => {
    const trained = await loadModel(model)
    const [alone] = trained.classify(['bx'], { top: 2 })
    const [beside] = trained.classify(['bx', 'abcdefghabcx'], { top: 2 })
    expect(beside).to.deep.equal(alone)
  })

  it('finds a folder of texts by itself', async () => {
    for (const [i, { words, kind }] of LINES.slice(0, 40).entries()) {
      await mkdir(join(folder.path, 'folder', kind), { recursive: true })
      await writeFile(join(folder.path, 'folder', kind, `${i}.txt`), words)
    }
    const { code, lines, stderr } = await run(['train', '--data', join(folder.path, 'folder'), '--steps', '2', ...FLAGS])
    expect(code, stderr).to.equal(0)
    expect(lines.find(({ event }) => event === 'started')).to.include({ model: 'text-classifier', samples: 36 })
  })
})
