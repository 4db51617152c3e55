import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs, { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { sharedClock, TraceRing, type TraceSpan } from '../../src/observe/trace-ring.js'
import { Trace } from '../../src/observe/trace.js'
import { TraceFile } from '../../src/observe/trace-file.js'
import { skip } from '../support/skip.js'
import { warningsIn } from '../support/warnings.js'

describe('a trace file', () => {
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'trace-'))))
  after(() => rmSync(folder, { recursive: true }))

  it('holds whole lines at any time, and JSON once it is closed', () => {
    const path = join(folder, 'one.json')
    const trace = new TraceFile(path, 'job "one"')
    const start = sharedClock()
    trace.span('learner 0', 'work', { start, end: start + 1.5, args: { steps: 3 } })
    trace.flush()
    trace.instant('learner 0', 'not yet flushed', {})
    const early = readFileSync(path, 'utf8')
    expect(early.endsWith(',\n')).to.equal(true)
    const events = JSON.parse(`${early.slice(0, -2)}]`) as { name: string }[]
    expect(events.at(-1)).to.deep.include({ ph: 'X', name: 'work', dur: 1500, args: { steps: 3 } })
    trace.close()
    trace.close()
    const names = (JSON.parse(readFileSync(path, 'utf8')) as { name: string }[]).map(({ name }) => name)
    expect(names).to.deep.equal(['process_name', 'thread_name', 'work', 'not yet flushed', 'end'])
  })
})

describe('a trace file on a full disk', () => {
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'trace-'))))
  after(() => rmSync(folder, { recursive: true }))

  it('ends with a warning, which promises no older file: that went when the trace began', async () => {
    const trace = new TraceFile(join(folder, 'full.json'), 'job')
    const { writeFileSync } = fs
    fs.writeFileSync = () => {
      throw Object.assign(new Error('told to fail'), { code: 'ENOSPC' })
    }
    syncBuiltinESMExports()
    const warnings = await warningsIn(async () => {
      trace.instant('learner 0', 'there is no room for it', {})
      trace.close()
    }).finally(() => {
      fs.writeFileSync = writeFileSync
      syncBuiltinESMExports()
    })
    expect(warnings).to.have.length(1)
    expect(warnings[0])
      .to.match(/full\.json: the disk is full .* it needs \d+ bytes.*the trace up to here stays/)
      .and.not.contain('unchanged')
  })
})

describe('a trace file that is a pipe', () => {
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'trace-'))))
  after(() => rmSync(folder, { recursive: true }))

  it('ends with a warning where its reader is gone', async function () {
    const path = join(folder, 'pipe')
    if (spawnSync('mkfifo', [path]).status !== 0) skip(this, 'there is no mkfifo here')
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const trace = new TraceFile(path, 'job')
    closeSync(reader)
    const warned = once(process, 'warning')
    trace.instant('learner 0', 'nobody reads it', {})
    trace.flush()
    expect((await warned)[0]).to.include({ code: 'WRITE_FAILED' })
    trace.instant('learner 0', 'nor this', {})
    trace.close()
  })
})

describe('a trace', () => {
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'trace-'))))
  after(() => rmSync(folder, { recursive: true }))

  /** Name, start and length of each span that it shows of one, in milliseconds from its start. */
  const shown = (span: Partial<TraceSpan>) => {
    const file = join(folder, 'spans.json')
    const trace = new Trace({ file, steps: 0 }, 'spans')
    const ring = new TraceRing(trace.learner(0))
    const start = sharedClock()
    ring.write({ kind: 'run', start, end: start + 100, steps: 4, waitSeconds: 0, dataSeconds: 0, ...span })
    trace.close()
    const events = JSON.parse(readFileSync(file, 'utf8')) as { ph: string; name: string; ts: number; dur: number; args?: unknown }[]
    const spans = events.filter(({ ph }) => ph === 'X')
    const first = spans[0]!.ts
    return {
      args: spans[0]!.args,
      spans: spans.map(({ name, ts, dur }) => [name, Math.round((ts - first) / 1000), Math.round(dur / 1000)])
    }
  }

  it('shows within a call how long it waited, for the others last and for data before', () => {
    const { args, spans } = shown({ waitSeconds: 0.02, dataSeconds: 0.03 })
    expect(args).to.deep.equal({ steps: 4, waitingMilliseconds: 20, waitingForDataMilliseconds: 30 })
    expect(spans).to.deep.equal([
      ['4 steps', 0, 100],
      ['waiting for data', 50, 30],
      ['waiting', 80, 20]
    ])
    expect(shown({ dataSeconds: 0.01 }).spans).to.deep.equal([
      ['4 steps', 0, 100],
      ['waiting for data', 90, 10]
    ])
    expect(shown({ waitSeconds: 0.01 }).spans).to.deep.equal([
      ['4 steps', 0, 100],
      ['waiting', 90, 10]
    ])
  })

  it('shows no wait that is longer than its call', () => {
    expect(shown({ waitSeconds: 0.08, dataSeconds: 0.5 }).spans).to.deep.equal([
      ['4 steps', 0, 100],
      ['waiting for data', 0, 20],
      ['waiting', 20, 80]
    ])
  })
})

describe('a trace’s ring', () => {
  const span = (start: number): TraceSpan => ({ kind: 'run', start, end: start + 1, steps: 1, waitSeconds: 0, dataSeconds: 0 })

  it('gives each span once, in another thread’s view of the same memory', () => {
    const reader = new TraceRing({ detail: 0 })
    const writer = new TraceRing({ memory: reader.memory, detail: 0 })
    writer.write(span(1))
    writer.write(span(2))
    expect(reader.read()).to.deep.equal({ spans: [span(1), span(2)], lost: 0 })
    writer.write(span(3))
    expect(reader.read()).to.deep.equal({ spans: [span(3)], lost: 0 })
    expect(reader.read()).to.deep.equal({ spans: [], lost: 0 })
  })

  it('says how many were overwritten', () => {
    const ring = new TraceRing({ detail: 0 })
    for (let i = 0; i < 10_000; i++) ring.write(span(i))
    const { spans, lost } = ring.read()
    expect(spans.length + lost).to.equal(10_000)
    expect(spans.at(-1)).to.deep.equal(span(9999))
    expect(spans.length).to.be.within(8190, 8192)
  })

  it('goes on behind the spans that 32 bits count', () => {
    const ring = new TraceRing({ detail: 0 })
    // So many have been written.
    new Uint32Array(ring.memory, 0, 1)[0] = 2 ** 31 - 2
    ring.read()
    for (let i = 0; i < 4; i++) ring.write(span(i))
    expect(ring.read()).to.deep.equal({ spans: [0, 1, 2, 3].map(span), lost: 0 })
  })
})
