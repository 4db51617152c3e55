import { expect } from 'chai'
import { pathToFileURL } from 'node:url'
import { ReaderPool, type PoolTask } from '../../src/data/reader-pool.js'
import read from '../../src/data/reader-thread.js'
import { refused } from '../support/codes.js'
import { Folder } from './support/files.js'

const task = (module: string, memory = new SharedArrayBuffer(2)): PoolTask => ({
  reader: { module, options: { value: 7 } },
  items: ['a', 'bc'],
  memory,
  offset: 0,
  size: 1
})
const source = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`

describe('A module that reads samples', () => {
  let folder: Folder
  before(async () => (folder = await Folder.make()))
  after(() => folder[Symbol.asyncDispose]())

  it('may be TypeScript, and be named by its path', async () => {
    const text =
      'export const openReader = ({ value }: { value: number }) => (key: string, to: Uint8Array): void => void to.fill(value * key.length)'
    const memory = new SharedArrayBuffer(2)
    const module = await folder.write('reader.ts', Buffer.from(text))
    expect(await read({ ...task(module, memory), name: 'reader.ts' })).to.deep.equal({ unreadable: [] })
    expect([...new Uint8Array(memory)]).to.deep.equal([7, 14])
  })

  it('may return the place to which it has written', async () => {
    await using pool = await ReaderPool.start({ threads: 1 })
    const memory = new SharedArrayBuffer(2)
    expect(await pool.read(task(source('export const openReader = () => (key, to) => to.fill(key.length)'), memory))).to.deep.equal([])
    expect([...new Uint8Array(memory)]).to.deep.equal([1, 2])
  })

  it('is refused where it is no reader, by its own name and not by those of its samples', async () => {
    await using pool = await ReaderPool.start({ threads: 1 })
    for (const [text, told] of [
      ['export default 1', 'it exports a default of type number; export a function openReader'],
      ['export const openReader = () => 5', 'its openReader returns 5; return a function that reads a sample'],
      ['export const openReader = () => { throw new Error("no archive\\nat all") }', 'its openReader throws: no archive'],
      ['export const openReader = async () => { throw new Error("no archive") }', 'its openReader throws: no archive'],
      ['export const openReader = () => (key) => Uint8Array.of(key.length)', 'its reader returns a sample; let it write the bytes to'],
      ['export const openReader = () => async (key) => [key.length]', 'its reader returns a sample; let it write the bytes to'],
      ['export const', 'it cannot be loaded: ']
    ] as const)
      await refused('INVALID_OPTION', () => pool.read(task(source(text))), 'reader.module: received "data:', told)
  })

  it('tells why it cannot read a sample in one line, and where that was thrown', async () => {
    const text = 'export const openReader = () => (key) => {\n  if (key === "bc") throw new Error("cut short\\nby a byte")\n}'
    const module = await folder.write('throws.mjs', Buffer.from(text))
    await using pool = await ReaderPool.start({ threads: 1 })
    const reason = `cut short (at ${module}:2)`
    expect(await pool.read(task(pathToFileURL(module).href))).to.deep.equal([{ index: 1, reason }])
  })
})
