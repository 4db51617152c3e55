import { expect } from 'chai'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { decompress } from '../../src/data/compressed-file.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'
import { Folder } from './support/files.js'

const MODULE = new URL('../../src/data/compressed-file.js', import.meta.url).href
const BYTES = 64 * 2 ** 20

/** Unpacks a file, and rests after its first bytes until a SIGINT comes. */
const SLOW_READER = `
  import { once } from 'node:events'
  import { decompress } from ${JSON.stringify(MODULE)}
  const alive = setInterval(() => {}, 1000)
  const interrupted = once(process, 'SIGINT')
  let bytes = 0
  for await (const chunk of (await decompress(process.argv[1])).chunks) {
    if (bytes === 0) {
      console.log('reading')
      await interrupted
    }
    bytes += chunk.length
  }
  console.log(bytes)
  clearInterval(alive)`

/** The process that unpacks a file. */
function xzOf(file: string): number | undefined {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [program, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      if (program === 'xz' && args.includes(file)) return Number(pid)
    } catch {
      // It has ended meanwhile.
    }
  }
  return undefined
}

describe('A file that xz unpacks', function () {
  this.timeout(60_000)
  let folder: Folder
  let file: string
  let reader: ChildProcess | undefined
  before(async function () {
    if (spawnSync('xz', ['--version']).status !== 0) skip(this, 'no program xz')
    folder = await Folder.make()
    file = await folder.write('zeros.xz', spawnSync('xz', ['-1', '-c'], { input: Buffer.alloc(BYTES) }).stdout)
  })
  after(() => folder?.[Symbol.asyncDispose]())
  afterEach(() => {
    if (reader?.exitCode === null) reader.kill('SIGKILL')
  })

  const slowReader = async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', SLOW_READER, file], { detached: true })
    reader = child
    let said = ''
    child.stdout.on('data', (text: Buffer) => (said += text.toString()))
    await once(child.stdout, 'data')
    return { child, said: () => said }
  }

  it('is read to its end where a terminal sends SIGINT to all that runs in it', async () => {
    const { child, said } = await slowReader()
    process.kill(-child.pid!, 'SIGINT')
    expect(await once(child, 'close')).to.deep.equal([0, null])
    expect(said()).to.equal(`reading\n${BYTES}\n`)
  })

  it('leaves no xz behind where its reader is killed', async () => {
    const { child } = await slowReader()
    expect(xzOf(file)).to.be.a('number')
    child.kill('SIGKILL')
    for (let wait = 0; wait < 100 && xzOf(file) !== undefined; wait++) await sleep(50)
    expect(xzOf(file)).to.equal(undefined)
  })

  it('is not called damaged where xz was ended by a signal, which is named', async () => {
    const { chunks } = await decompress(file)
    await chunks.next()
    process.kill(xzOf(file)!, 'SIGTERM')
    await refused('ABORTED', async () => { for await (const _ of chunks); }, file, 'SIGTERM') // prettier-ignore
  })
})
