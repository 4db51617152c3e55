import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { ReaderPool } from '../../src/data/reader-pool.js'
import { Folder } from './support/files.js'

const POOL = new URL('../../src/data/reader-pool.js', import.meta.url)

describe('threads that read samples', () => {
  it('fail by their limits where none can start, and leave no task waiting', async () => {
    await using folder = await Folder.make()
    // Node loads it in every thread, so that no thread starts once it is gone.
    const preloaded = await folder.write('preloaded.cjs', new Uint8Array())
    const body = `
      import { unlinkSync } from 'node:fs'
      import { ReaderPool } from '${POOL.href}'
      unlinkSync(${JSON.stringify(preloaded)})
      const pool = await ReaderPool.start({ threads: 2 })
      const memory = new SharedArrayBuffer(1)
      const task = { reader: { module: 'none', options: {} }, items: ['a'], memory, offset: 0, size: 1 }
      const codes = await Promise.all([1, 2, 3].map(() => pool.read(task).catch(({ code }) => code)))
      codes.push(await pool.read(task).catch(({ code }) => code))
      await pool.close()
      console.log(codes.join(' '))`
    const flags = ['--require', preloaded, '--input-type=module', '-e', body]
    const { stdout } = await promisify(execFile)(process.execPath, flags, { timeout: 20_000 })
    expect(stdout.trim()).to.equal('LIMIT_REACHED LIMIT_REACHED LIMIT_REACHED LIMIT_REACHED')
  })

  it('open a reader once for the same options and place, and one of its own for memory that is shared', async () => {
    // Each counts the readers before it in its thread.
    const text = `
      let opened = 0
      export function openReader({ bytes }, place) {
        const number = opened++
        return (item, to) => to.set([number, bytes === undefined ? (place?.at ?? 0) : new Uint8Array(bytes)[0]])
      }`
    const module = `data:text/javascript,${encodeURIComponent(text)}`
    const shared = (value: number) => {
      const bytes = new SharedArrayBuffer(1)
      new Uint8Array(bytes)[0] = value
      return { module, options: { bytes } }
    }
    const placed = (at: number) => ({ module, options: {}, place: { at } })
    const readers = [
      { module, options: { size: [1, 2] } },
      { module, options: { size: [1, 2] } },
      shared(5),
      shared(6),
      placed(7),
      placed(8),
      placed(7)
    ]
    await using pool = await ReaderPool.start({ threads: 1 })
    const found: number[][] = []
    for (const reader of [...readers, ...readers]) {
      const memory = new SharedArrayBuffer(2)
      expect(await pool.read({ reader, items: ['a'], memory, offset: 0, size: 2 })).to.deep.equal([])
      found.push([...new Uint8Array(memory)])
    }
    const once = [
      [0, 0],
      [0, 0],
      [1, 5],
      [2, 6],
      [3, 7],
      [4, 8],
      [3, 7]
    ]
    expect(found).to.deep.equal([...once, ...once])
  })
})
