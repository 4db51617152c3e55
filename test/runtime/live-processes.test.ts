import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect } from 'chai'
import { liveProcesses } from '../../src/runtime/live-processes.js'
import { showLive } from '../../src/runtime/live-processes.js'
import type { ActorSnapshot } from '../../src/runtime/snapshot.js'

const SERVE = new URL('../../src/runtime/live-processes.js', import.meta.url)

describe('a job that shows itself', () => {
  const variables = ['XDG_RUNTIME_DIR', 'TMPDIR', 'ARBALEST_TOP'] as const
  const before = variables.map((name) => [name, process.env[name]] as const)
  let session: string
  beforeEach(() => {
    session = mkdtempSync(join(tmpdir(), 'arbalest-live-'))
    process.env['XDG_RUNTIME_DIR'] = session
    // A folder of its own: other processes of this user may show jobs, too.
    process.env['TMPDIR'] = session
    delete process.env['ARBALEST_TOP']
  })
  afterEach(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    rmSync(session, { recursive: true })
  })

  const folder = () => join(session, 'arbalest')
  const socket = () => join(folder(), `${process.pid}.sock`)
  const ACTOR: ActorSnapshot = {
    name: 'learner 0',
    thread: 1,
    depth: 1,
    busy: true,
    deferred: 0,
    messages: 2,
    timed: 2,
    waitTime: 3,
    handleTime: 4,
    restarts: 0,
    heap: 5
  }

  it('is found by other processes of its user, with its current state, until it ends', async () => {
    const actors = [ACTOR]
    const shown = showLive('mlp on digits', () => actors)
    try {
      expect(statSync(folder()).mode & 0o777).to.equal(0o700)
      actors.push({ ...ACTOR, name: 'learner 1' })
      const [found, ...others] = await liveProcesses()
      expect(others).to.deep.equal([])
      expect(found).to.have.property('pid', process.pid)
      expect(found!.jobs).to.have.length(1)
      expect(found!.jobs[0]).to.have.property('name', 'mlp on digits')
      expect(found!.jobs[0]!.actors).to.deep.equal(actors)
      expect(found!.jobs[0]!.seconds).to.be.within(0, 60)
    } finally {
      shown[Symbol.dispose]()
    }
    expect(readdirSync(folder())).to.deep.equal([])
    expect(await liveProcesses()).to.deep.equal([])
  })

  it('shares one socket with the others of its process', async () => {
    const shown = [showLive('a', () => []), showLive('b', () => [])]
    try {
      expect(readdirSync(folder())).to.have.length(1)
      expect((await liveProcesses()).flatMap(({ jobs }) => jobs.map(({ name }) => name))).to.deep.equal(['a', 'b'])
      shown.shift()![Symbol.dispose]()
      expect((await liveProcesses()).flatMap(({ jobs }) => jobs.map(({ name }) => name))).to.deep.equal(['b'])
    } finally {
      for (const each of shown) each[Symbol.dispose]()
    }
    expect(readdirSync(folder())).to.deep.equal([])
  })

  it('is not shown with ARBALEST_TOP=off', async () => {
    process.env['ARBALEST_TOP'] = 'off'
    showLive('hidden', () => [])[Symbol.dispose]()
    expect(readdirSync(session)).to.deep.equal([])
  })

  it('uses the next folder if others can read the first or own it', async () => {
    const hidden = (make: () => void) => {
      make()
      const shown = showLive('careful', () => [])
      const there = readdirSync(folder(), { withFileTypes: true }).length
      shown[Symbol.dispose]()
      rmSync(folder(), { recursive: true })
      return there
    }
    expect(
      hidden(() => {
        mkdirSync(folder())
        chmodSync(folder(), 0o755)
      })
    ).to.equal(0)
    const elsewhere = mkdtempSync(join(session, 'elsewhere-'))
    expect(hidden(() => symlinkSync(elsewhere, folder()))).to.equal(0)
    process.env['XDG_RUNTIME_DIR'] = join(session, 'nowhere')
    const shown = showLive('careful', () => [])
    expect((await liveProcesses()).map(({ pid }) => pid)).to.deep.equal([process.pid])
    shown[Symbol.dispose]()
  })

  it('leaves nothing behind; the socket of a killed process is removed', async () => {
    const program = async (rest: string) => {
      const body = `import { showLive } from '${SERVE.href}'\nshowLive('other', () => [])\nconsole.log('up')\n${rest}`
      const child = spawn(process.execPath, ['--input-type=module', '-e', body], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      return child
    }
    // A socket without connections keeps no process alive.
    await once(await program(''), 'close')
    expect(readdirSync(folder())).to.deep.equal([])
    await once(await program('process.exit(0)'), 'close')
    expect(readdirSync(folder())).to.deep.equal([])

    const other = await program('setInterval(() => {}, 1000)')
    expect((await liveProcesses()).map(({ pid }) => pid)).to.deep.equal([other.pid])
    other.kill('SIGKILL')
    await once(other, 'close')
    writeFileSync(join(folder(), 'note.txt'), 'not a socket')
    expect(readdirSync(folder())).to.have.length(2)
    expect(await liveProcesses()).to.deep.equal([])
    expect(readdirSync(folder())).to.deep.equal(['note.txt'])
  })

  it('does not wait for a process that listens and never answers', async () => {
    const shown = showLive('patient', () => [])
    const { connect } = await import('node:net')
    const silent = connect(socket())
    await once(silent, 'connect')
    expect(await liveProcesses()).to.have.length(1)
    silent.destroy()
    shown[Symbol.dispose]()
  })

  it('is found although other sockets answer nonsense, drip or never end', async () => {
    const shown = showLive('mlp on digits', () => [ACTOR])
    const answers: readonly ((peer: Socket) => void)[] = [
      (peer) => peer.end('null'),
      (peer) => peer.end('{}'),
      (peer) => peer.end('{"pid":1,"jobs":[{"name":"x","seconds":1,"actors":[null]}]}'),
      (peer) => void setInterval(() => peer.write(' '), 50).unref(),
      () => {}
    ]
    const sockets: Socket[] = []
    const servers = answers.map((answer, i) =>
      createServer((peer) => {
        sockets.push(peer.on('error', () => {}))
        answer(peer)
      }).listen(join(folder(), `${process.pid}-${i + 1}.sock`))
    )
    try {
      const began = performance.now()
      expect((await liveProcesses()).map(({ jobs }) => jobs.map(({ name }) => name))).to.deep.equal([['mlp on digits']])
      expect(performance.now() - began).to.be.below(10_000)
    } finally {
      for (const peer of sockets) peer.destroy()
      for (const server of servers) server.close()
      shown[Symbol.dispose]()
    }
  })

  it('removes the sockets of processes that were killed', () => {
    mkdirSync(folder(), { mode: 0o700 })
    // Beyond the largest id that Linux gives.
    const dead = join(folder(), `${2 ** 22 + 1}.sock`)
    writeFileSync(dead, '')
    const shown = showLive('mlp on digits', () => [])
    expect(readdirSync(folder())).to.deep.equal([`${process.pid}.sock`])
    shown[Symbol.dispose]()
  })
})
