import { expect } from 'chai'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { FolderLock } from '../../src/checkpoints/folder-lock.js'
import { thisProcess } from '../../src/checkpoints/lock-holder.js'
import { lockFile } from '../../src/engine/file-lock.js'
import { CheckpointStore, holdFolder } from '../../src/checkpoints/store.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'
import { unprivileged } from '../support/unprivileged.js'
import { warningsIn } from '../support/warnings.js'
import { modelFile } from '../../src/trained/load-model.js'

const STORE = new URL('../../src/checkpoints/store.js', import.meta.url).href

/** Holds a folder until it is killed. */
const HOLDER = (dir: string) => `
  import { holdFolder } from ${JSON.stringify(STORE)}
  const held = await holdFolder(${JSON.stringify(dir)})
  console.log('held')
  setInterval(() => held, 1000)`

/** Runs a module in a process of its own, by `through` where that is given; resolves at its first word, or with its end. */
async function inProcess(code: string, through: readonly string[] = []): Promise<{ child: ChildProcess; said: string }> {
  const [program, ...words] = [...through, process.execPath]
  const child = spawn(program, [...words, '--input-type=module', '--eval', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [unknown]
  return { child, said: String(said).trim() }
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** A file system without locks. */
const WITHOUT_LOCKS = () => 'unsupported' as const

describe('The lock of a folder', function () {
  this.timeout(30_000)
  let folder: Folder
  let dir: string
  beforeEach(async () => {
    folder = await Folder.make()
    dir = folder.path
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  it('keeps another run of this process out, also one that begins at the same time, and says that it is of this process', async () => {
    for (let round = 0; round < 20; round++) {
      const taken = await Promise.allSettled([FolderLock.take(dir), FolderLock.take(dir)])
      const [held] = taken.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      const [refusal] = taken.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
      await held![Symbol.asyncDispose]()
      expect(refusal!.message).to.match(
        /; another run writes into it \(process \d+ on .*, this one, since 2.*\): stop that one, or name another folder$/
      )
    }
  })

  it('keeps other processes out, names the one that holds it, and is free when that is killed', async () => {
    const { child, said } = await inProcess(HOLDER(dir))
    expect(said).to.equal('held')
    const { data } = await refused(
      'INVALID_STATE',
      () => holdFolder(dir),
      dir,
      'another run',
      `process ${child.pid} on ${hostname()}, since 20`
    )
    expect(data).to.deep.equal({ folder: dir, pid: child.pid, host: hostname() })
    await killed(child)
    await using _held = await holdFolder(dir)
    expect(JSON.parse(await readFile(join(dir, '.lock'), 'utf8'))).to.include({ pid: process.pid })
  })

  it('keeps out other threads of the process, and is free when the thread that holds it is ended', async () => {
    const holding = new Worker(new URL(`data:text/javascript,${encodeURIComponent(`
      import { parentPort } from 'node:worker_threads'
      import { holdFolder } from ${JSON.stringify(STORE)}
      globalThis.held = await holdFolder(${JSON.stringify(dir)})
      parentPort.postMessage('held')
      setInterval(() => {}, 1000)`)}`)) // prettier-ignore
    await once(holding, 'message')
    await refused('INVALID_STATE', () => holdFolder(dir), `process ${process.pid}`)
    await holding.terminate()
    await using _held = await holdFolder(dir)
  })

  it('holds in another network namespace', async function () {
    if (spawnSync('unshare', ['--net', 'true']).status !== 0) return skip(this, 'this user may not make network namespaces')
    await using held = await holdFolder(dir)
    const attempt = `
      import { holdFolder } from ${JSON.stringify(STORE)}
      await holdFolder(${JSON.stringify(dir)}).then(() => console.log('taken'), ({ code }) => console.log(code))`
    expect((await inProcess(attempt, ['unshare', '--net'])).said).to.equal('INVALID_STATE')
    await held[Symbol.asyncDispose]()
    expect((await inProcess(attempt, ['unshare', '--net'])).said).to.equal('taken')
  })

  it('cannot be taken by a user who may only read the folder', async function () {
    if (process.geteuid?.() !== 0) return skip(this, 'only root can act as another user')
    await chmod(dir, 0o755)
    await using held = await holdFolder(dir)
    const path = join(dir, '.lock')
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
    let code: unknown
    await unprivileged(async () => {
      code = await readFile(path).then(
        () => undefined,
        (error: NodeJS.ErrnoException) => error.code
      )
    })
    expect(code).to.equal('EACCES')
    await held[Symbol.asyncDispose]()
  })

  it('is not needed to read: the newest model of a held folder is found by a user who may not write there', async () => {
    await using store = await CheckpointStore.open(dir)
    const written = await store.write({ iteration: 7, files: { 'model.safetensors': (path) => writeFile(path, 'a model') }, state: {} })
    await chmod(dir, 0o555)
    await unprivileged(async () => {
      expect(await modelFile(dir)).to.equal(join(written, 'model.safetensors'))
    })
    await chmod(dir, 0o755)
  })

  it('says which file to delete where a run of another user has left it', async function () {
    if (process.geteuid?.() !== 0) return skip(this, 'only root can act as another user')
    await chmod(dir, 0o777)
    await writeFile(join(dir, '.lock'), '', { mode: 0o600 })
    await unprivileged(async () => void (await refused('INVALID_STATE', () => holdFolder(dir), 'another user', join(dir, '.lock'))))
    await chown(join(dir, '.lock'), 65534, 65534)
    await unprivileged(async () => (await holdFolder(dir))[Symbol.asyncDispose]())
  })

  it('leaves nothing behind, and a file that a killed run left means nothing', async () => {
    await writeFile(join(dir, '.lock'), '{"pid": 1')
    const held = await holdFolder(dir)
    await held[Symbol.asyncDispose]()
    expect(await readdir(dir)).to.deep.equal([])
    // Twice: the file may be another run's by now.
    await using _other = await holdFolder(dir)
    await held[Symbol.asyncDispose]()
    expect(existsSync(join(dir, '.lock'))).to.equal(true)
  })

  it('is left to the run that has made a folder in the place of one that was moved, as is the folder', async () => {
    const place = join(dir, 'run')
    const store = await CheckpointStore.open(place)
    await rename(place, join(dir, 'moved'))
    const { child } = await inProcess(HOLDER(place))
    try {
      const write = () => store.write({ iteration: 7, files: {}, state: {} })
      await refused('WRITE_FAILED', write, place, 'moved', `process ${child.pid} on ${hostname()}`)
      await store[Symbol.asyncDispose]()
      expect(await readdir(place)).to.deep.equal(['.lock'])
    } finally {
      await killed(child)
    }
  })

  it('ends with a warning where its file cannot be deleted, as on a disk that can only be read by now', async () => {
    const held = await holdFolder(dir)
    // What cannot be deleted as a file.
    await rm(join(dir, '.lock'))
    await mkdir(join(dir, '.lock'))
    expect((await warningsIn(async () => held[Symbol.asyncDispose]())).join()).to.match(/^could not delete .*lock/)
  })

  it('is not taken by a file that its holder has deleted meanwhile: another run makes a new one', async () => {
    let tries = 0
    const lock = (fd: number) => {
      if (++tries === 1) rmSync(join(dir, '.lock'))
      return lockFile(fd)
    }
    await using _held = await FolderLock.take(dir, lock)
    expect(tries).to.equal(2)
    expect(await readdir(dir)).to.deep.equal(['.lock'])
    await refused('INVALID_STATE', () => holdFolder(dir), 'another run')
  })

  it('has one holder at a time, however many processes take and release it', async () => {
    const code = `
      import { appendFileSync } from 'node:fs'
      import { holdFolder } from ${JSON.stringify(STORE)}
      for (let taken = 0; taken < 50; ) {
        const held = await holdFolder(${JSON.stringify(dir)}).catch(() => undefined)
        if (!held) continue
        appendFileSync(${JSON.stringify(join(dir, 'diary'))}, '(')
        await new Promise((resolve) => setImmediate(resolve))
        appendFileSync(${JSON.stringify(join(dir, 'diary'))}, ')')
        await held[Symbol.asyncDispose]()
        taken++
      }`
    const children = Array.from({ length: 4 }, () => spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'inherit' }))
    for (const ended of children.map((child) => once(child, 'exit'))) expect(await ended).to.deep.equal([0, null])
    expect(await readFile(join(dir, 'diary'), 'utf8')).to.equal('()'.repeat(200))
  })

  describe('on a file system without locks', () => {
    const existing = () => join(dir, '.lock-by-existence')

    it('is the existence of a file, which goes with the run', async () => {
      const held = await FolderLock.take(dir, WITHOUT_LOCKS)
      expect(await readdir(dir)).to.deep.equal(['.lock-by-existence'])
      await refused('INVALID_STATE', () => FolderLock.take(dir, WITHOUT_LOCKS), 'another run', `process ${process.pid}`, existing())
      await held[Symbol.asyncDispose]()
      expect(await readdir(dir)).to.deep.equal([])
    })

    it('is taken over from a process that has ended, also where its number is in use again', async () => {
      const gone = thisProcess()
      for (const holder of [
        { ...gone, pid: 2 ** 22 + 1 },
        { ...gone, process: { ...gone.process!, started: '1' } }
      ]) {
        await writeFile(existing(), JSON.stringify(holder))
        await (await FolderLock.take(dir, WITHOUT_LOCKS))[Symbol.asyncDispose]()
        expect(await readdir(dir)).to.deep.equal([])
      }
    })

    it('is left alone where its process may be alive elsewhere, and the error says which file to delete', async () => {
      const here = thisProcess()
      for (const [text, ...words] of [
        [JSON.stringify({ ...here, host: 'other', process: { ...here.process!, boot: 'another' } }), 'on other'],
        [JSON.stringify({ ...here, process: { ...here.process!, namespace: 'pid:[1]' } })],
        [JSON.stringify({ ...here, process: null })],
        ['', 'unknown number']
      ] as [string, ...string[]][]) {
        await writeFile(existing(), text)
        await refused('INVALID_STATE', () => FolderLock.take(dir, WITHOUT_LOCKS), `delete ${existing()}`, ...words)
        await rm(existing())
      }
    })
  })
})
