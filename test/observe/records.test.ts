import { execFileSync, spawnSync } from 'node:child_process'
import fs, { readdirSync, readlinkSync } from 'node:fs'
import { appendFile, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { createCRC32 } from 'hash-wasm'
import type { JobEvent } from '../../src/observe/events.js'
import { openSinks } from '../../src/observe/open-sinks.js'
import { RunLog } from '../../src/observe/run-log.js'
import { readRuns } from '../../src/observe/read-runs.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { trainWith } from '../../src/run/train.js'
import { Folder } from '../data/support/files.js'
import { FAKES, tinyData, tinyModel } from '../fakes/job.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'
import { warningsIn } from '../support/warnings.js'

/** Where it leads; undefined where it is not there any more. */
function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

describe('the record of a run', function () {
  this.timeout(30_000)
  let folder: Folder
  before(async () => {
    folder = await Folder.make()
  })
  after(() => folder[Symbol.asyncDispose]())
  const at = (name: string) => join(folder.path, name)

  const start = (options: Partial<TrainOptions>) =>
    trainWith({ model: tinyModel(), data: tinyData(), learners: 2, batch: 4, until: { epochs: 2 }, ...options }, FAKES)

  it('is every event as a line of JSON, after the options and before anybody else sees it', async () => {
    const log = at('log.jsonl')
    const job = start({ log, seed: 5 })
    const events: JobEvent[] = []
    for await (const event of job) events.push(event)
    const text = await readFile(log, 'utf8')
    expect(text.endsWith('}\n')).to.equal(true)
    const lines = text.trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>) // prettier-ignore
    expect(new Set(lines.map((line) => line['run']))).to.have.property('size', 1)
    const [head, ...rest] = lines.map(({ run: _, time, ...event }) => (expect(time).to.be.a('number'), event))
    expect(rest).to.deep.equal(events)
    expect(head).to.have.nested.include({ event: 'run', 'options.seed': 5, 'options.batch': 4, 'options.until.epochs': 2 })
    expect(head!['versions']).to.include({ node: process.versions.node })
    expect((head!['options'] as Record<string, string>)['model']).to.match(/^tiny \(sha256 [0-9a-f]{12}\)$/)
  })

  it('holds several runs in a file, and is read whatever a crash has left between them', async () => {
    const log = at('several.jsonl')
    await start({ log, seed: 1 }).finished
    await appendFile(log, '{"run":"torn","time":1,"eve')
    await start({ log, seed: 2 }).finished
    const runs = await readRuns(log)
    expect(runs.map(({ options, end }) => [options['seed'], end?.event])).to.deep.equal([
      [1, 'finished'],
      [2, 'finished']
    ])
    expect(runs[0]!.evaluated).to.have.length(2)
    expect(runs[0]!.started).to.include({ model: 'tiny', learners: 2 })
  })

  it('tells how a run failed', async () => {
    const logDir = at('logs')
    await refused('LOSS_NOT_FINITE', () => start({ logDir, until: { epochs: 100 }, optimiser: { learningRate: 1e30 } }).finished)
    const [failed] = await readRuns(logDir)
    expect(failed!.end).to.include({ event: 'failed', code: 'LOSS_NOT_FINITE' })
    expect(failed!.file).to.equal(join(logDir, `${failed!.run}.jsonl`))
  })

  it('is refused where it cannot be written, before anything is trained', async () => {
    await refused('WRITE_FAILED', () => start({ log: '/nowhere/log.jsonl' }).finished, 'log: received', '/nowhere')
    await refused('WRITE_FAILED', () => start({ tensorboard: join(at('log.jsonl'), 'in a file') }).finished, 'in a file')
    const { message } = await refused('WRITE_FAILED', () => start({ logDir: '/proc' }).finished)
    expect(message).to.match(/^logDir: received "\/proc"; no file can be made there \(ENOENT: [^;]*\); name a folder that may be written$/)
    await refused('DATA_NOT_FOUND', () => readRuns('/nowhere'), '/nowhere')
  })

  it('does not blame the folder where the process may not generate the code that writes a format', () => {
    const program = `
      const { openSinks } = await import('${new URL('../../src/observe/open-sinks.js', import.meta.url).href}')
      await openSinks({ tensorboard: ${JSON.stringify(at('tb'))} }, 'run').catch((error) => console.log(error.code, error.message))`
    const flags = ['--disallow-code-generation-from-strings', '--input-type=module', '-e', program]
    const { stdout } = spawnSync(process.execPath, flags, { encoding: 'utf8' })
    expect(stdout).to.match(/^WRITE_FAILED tensorboard: .*; this process cannot write such files \(Code generation/)
  })

  it('costs the run nothing where the disk is full, and keeps no file open', async () => {
    const open = () => readdirSync('/proc/self/fd').filter((file) => linkOf(`/proc/self/fd/${file}`) === '/dev/full')
    const warnings = await warningsIn(async () => {
      const job = start({ log: '/dev/full', logDir: at('beside') })
      job.once('started', () => expect(open()).to.deep.equal([]))
      expect(await job.finished).to.include({ reason: 'completed' })
    })
    expect(warnings).to.have.length(1)
    expect(warnings[0]).to.contain('ENOSPC')
    expect((await readRuns(at('beside')))[0]!.end).to.include({ event: 'finished' })
  })

  it('waits for no reader of a pipe: neither for the first, nor for one that has gone', function () {
    const pipe = at('pipe')
    if (spawnSync('mkfifo', [pipe]).status !== 0) skip(this, 'there is no mkfifo here')
    expect(() => new RunLog(pipe, 'unread')).to.throw(/^log: received ".*pipe"; .*no process reads this pipe/)
    const reader = fs.openSync(pipe, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
    const log = new RunLog(pipe, 'read')
    log.write({ event: 'run' }, 1)
    fs.closeSync(reader)
    expect(() => log.write({ event: 'run' }, 2)).to.throw(/EPIPE/)
    log.close()
  })

  it('costs the run nothing where it cannot be closed', async () => {
    const { closeSync } = fs
    const warnings = await warningsIn(async () => {
      const job = start({ log: at('unclosed.jsonl'), logDir: at('unclosed') })
      await new Promise((resolve) => job.once('evaluated', resolve))
      fs.closeSync = (file) => {
        closeSync(file)
        throw new Error('told to fail')
      }
      syncBuiltinESMExports()
      expect(await job.finished).to.include({ reason: 'completed' })
    }).finally(() => {
      fs.closeSync = closeSync
      syncBuiltinESMExports()
    })
    expect(warnings).to.have.length(2)
    for (const warning of warnings) expect(warning).to.contain('told to fail')
  })

  describe('for TensorBoard', () => {
    let folderOfRun: string
    let events: JobEvent[]
    before(async () => {
      const job = start({ tensorboard: at('tb') })
      events = []
      for await (const event of job) events.push(event)
      folderOfRun = join(at('tb'), (await readdir(at('tb')))[0]!)
    })

    it('has all numbers of a measurement', async () => {
      const sinks = await openSinks({ tensorboard: at('measured') }, 'run')
      const evaluated = { event: 'evaluated', iteration: 20, epoch: 1, testLoss: 0.4, testAccuracy: 0.5, seconds: 1 } as const
      sinks.write({ ...evaluated, testTopK: 0.9, testPerplexity: 1.5, testMetrics: { f1: 0.4, confusion: [[1]] } })
      sinks.close()
      const [name] = await readdir(join(at('measured'), 'run'))
      const text = await readFile(join(at('measured'), 'run', name!), 'latin1')
      const tags = [...text.matchAll(/test\/[a-z0-9_]+/g)].map(([tag]) => tag)
      expect(tags).to.deep.equal(['test/loss', 'test/accuracy', 'test/top_k_accuracy', 'test/perplexity', 'test/f1'])
    })

    it('is made of records with the checksums of TFRecord', async () => {
      const [name] = await readdir(folderOfRun)
      expect(name).to.match(/^events\.out\.tfevents\.\d{10}\./)
      const file = await readFile(join(folderOfRun, name!))
      const crc = await createCRC32(0x82f63b78)
      const masked = (bytes: Uint8Array) => {
        const sum = parseInt(crc.init().update(bytes).digest(), 16)
        return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0
      }
      let records = 0
      for (let from = 0; from < file.length; records++) {
        const length = Number(file.readBigUInt64LE(from))
        expect(file.readUInt32LE(from + 8)).to.equal(masked(file.subarray(from, from + 8)))
        expect(file.readUInt32LE(from + 12 + length)).to.equal(masked(file.subarray(from + 12, from + 12 + length)))
        from += 16 + length
      }
      expect(records).to.equal(1 + events.filter(({ event }) => event === 'progress' || event === 'evaluated').length)
    })
  })

  it('is read with its losses that were no numbers, which JSON does not have', async () => {
    const line = (event: object) => `${JSON.stringify({ run: 'diverged', time: 1, ...event })}\n`
    const events = [
      { event: 'run', options: {} },
      { event: 'progress', iteration: 1, loss: NaN },
      { event: 'evaluated', iteration: 1, testLoss: Infinity, testAccuracy: null },
      { event: 'finished', reason: 'stopped', testLoss: NaN, testAccuracy: null }
    ]
    await writeFile(at('diverged.jsonl'), events.map(line).join(''))
    const [run] = await readRuns(at('diverged.jsonl'))
    expect(run!.progress).to.deep.equal([{ event: 'progress', iteration: 1, loss: NaN }])
    expect(run!.evaluated[0]).to.deep.include({ testLoss: NaN, testAccuracy: null })
    expect(run!.end).to.deep.include({ testLoss: NaN })
  })

  it('is read without what the run had discarded when it went back', async () => {
    const measured = (iteration: number, loss: number) => [
      { event: 'progress', iteration, loss },
      { event: 'logged', iteration, learner: null, metrics: { loss } },
      { event: 'evaluated', iteration, testLoss: loss, testAccuracy: loss }
    ]
    const before = [...measured(1, 0.8), ...measured(2, 0.5), { event: 'wentBack', iteration: 3 }]
    for (const [name, back, left] of [
      ['to a checkpoint', { event: 'resumed', iteration: 1 }, [0.8, 0.6]],
      ['to its start', { event: 'levels' }, [0.6]]
    ] as const) {
      const events = [{ event: 'run', options: {} }, ...before, back, ...measured(2, 0.6)]
      await writeFile(at(`${name}.jsonl`), events.map((event) => `${JSON.stringify({ run: name, time: 1, ...event })}\n`).join(''))
      const [run] = await readRuns(at(`${name}.jsonl`))
      expect(run!.progress.map(({ loss }) => loss)).to.deep.equal(left)
      expect(run!.logged.map(({ metrics }) => metrics['loss'])).to.deep.equal(left)
      expect(run!.evaluated.map(({ testLoss }) => testLoss)).to.deep.equal(left)
    }
  })

  it('is read beside a file that has no line which a text could hold', async () => {
    const logs = at('beside zeros')
    await mkdir(logs)
    await writeFile(join(logs, 'log.jsonl'), `${JSON.stringify({ run: 'sound', time: 1, event: 'run', options: {} })}\n`)
    await writeFile(join(logs, 'zeros.jsonl'), '')
    await truncate(join(logs, 'zeros.jsonl'), 600 * 2 ** 20)
    expect((await readRuns(logs)).map(({ run }) => run)).to.deep.equal(['sound'])
  })

  it('is read without lines that lack what its events have, such as those of another program', async () => {
    const lines = [
      { event: 'run', options: null },
      { event: 'started' },
      { event: 'progress', epoch: 1 },
      { event: 'evaluated', iteration: null },
      { event: 'logged', iteration: 1 },
      { event: 'finished', seconds: 1 },
      { event: 'toString' }
    ]
    await writeFile(at('others.jsonl'), lines.map((line) => JSON.stringify({ run: 'other', time: 1, ...line })).join('\r\n'))
    const [run] = await readRuns(at('others.jsonl'))
    expect(run).to.deep.include({ options: {}, started: undefined, progress: [], evaluated: [], logged: [], end: undefined })
  })

  it('is read beside what is no log, and beside times that no calendar has', async () => {
    const logs = at('beside others')
    await mkdir(join(logs, 'folder.jsonl'), { recursive: true })
    execFileSync('mkfifo', [join(logs, 'pipe.jsonl')])
    const line = (run: string, time: unknown) => `${JSON.stringify({ run, time, event: 'run', options: {} })}\n`
    await writeFile(join(logs, 'log.jsonl'), line('far', 1e300) + line('sound', 1_700_000_000))
    const runs = await readRuns(logs)
    expect(runs.map(({ run }) => run)).to.deep.equal(['sound'])
    await refused('DATA_NOT_FOUND', () => readRuns(join(logs, 'missing.jsonl')), 'missing.jsonl', 'ENOENT')
  })
})
