import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
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
})
