import { expect } from 'chai'
import read, { type ReadTask } from '../../src/data/reader-thread.js'
import { refused } from '../support/codes.js'
import { Folder } from './support/files.js'

const task = (module: string, memory = new SharedArrayBuffer(2)): ReadTask => ({
  reader: { module, options: { value: 7 } },
  name: module,
  items: ['a', 'bc'],
  memory,
  offset: 0,
  size: 1
})
const source = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`

describe('A module that reads samples', () => {
  it('may be TypeScript, and be named by its path', async () => {
    await using folder = await Folder.make()
    const text =
      'export const openReader = ({ value }: { value: number }) => (key: string, to: Uint8Array): void => void to.fill(value * key.length)'
    const memory = new SharedArrayBuffer(2)
    expect(await read(task(await folder.write('reader.ts', Buffer.from(text)), memory))).to.deep.equal([])
    expect([...new Uint8Array(memory)]).to.deep.equal([7, 14])
  })

  it('is refused where it is no reader', async () => {
    for (const [text, told] of [
      ['export default 1', 'it exports a default of type number; export a function openReader'],
      ['export const openReader = () => 5', 'its openReader returns 5; return a function that reads a sample'],
      ['export const', 'it cannot be loaded: ']
    ] as const)
      await refused('INVALID_OPTION', () => read(task(source(text))), told)
  })
})
