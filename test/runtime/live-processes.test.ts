import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ArbalestError } from '../../src/errors.js'
import { callJob, liveProcesses, showLive } from '../../src/runtime/live-processes.js'
import type { ActorSnapshot } from '../../src/runtime/snapshot.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'

const SERVE = new URL('../../src/runtime/live-processes.js', import.meta.url)
/** A user who owns no files. */
const NOBODY = { uid: 65_534, gid: 65_534, encoding: 'utf8', cwd: '/' } as const

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

  it('is found beside one of another copy of the package, which takes other calls', async () => {
    const copy = (await import(`${SERVE.href}?copy`)) as { readonly showLive: typeof showLive }
    const call = (name: string) => () => Promise.resolve(name)
    const shown = [
      showLive({ name: 'a', actors: () => [], call: call('a') }),
      copy.showLive({ name: 'b', actors: () => [], call: call('b') })
    ]
    try {
      const jobs = (await liveProcesses()).flatMap((found) => found.jobs)
      expect(jobs.map(({ name }) => name).toSorted()).to.deep.equal(['a', 'b'])
      for (const { id, name } of jobs) expect(await callJob(process.pid, id, {})).to.equal(name)
    } finally {
      for (const each of shown) each[Symbol.dispose]()
    }
    expect(await liveProcesses()).to.deep.equal([])
    expect(readdirSync(folder())).to.deep.equal([])
  })

  it('is found by other processes of its user, with its current state, until it ends', async () => {
    const actors = [ACTOR]
    const shown = showLive({ name: 'mlp on digits', actors: () => actors })
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
    const shown = [showLive({ name: 'a', actors: () => [] }), showLive({ name: 'b', actors: () => [] })]
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
    showLive({ name: 'hidden', actors: () => [] })[Symbol.dispose]()
    expect(readdirSync(session)).to.deep.equal([])
  })

  it('uses the next folder if others can read the first or own it', async () => {
    const hidden = (make: () => void) => {
      make()
      const shown = showLive({ name: 'careful', actors: () => [] })
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
    const shown = showLive({ name: 'careful', actors: () => [] })
    expect((await liveProcesses()).map(({ pid }) => pid)).to.deep.equal([process.pid])
    shown[Symbol.dispose]()
  })

  it('uses the next folder if the first cannot be looked at', async () => {
    const loop = join(session, 'loop')
    symlinkSync(loop, loop)
    process.env['XDG_RUNTIME_DIR'] = loop
    const shown = showLive({ name: 'careful', actors: () => [] })
    expect((await liveProcesses()).map(({ pid }) => pid)).to.deep.equal([process.pid])
    shown[Symbol.dispose]()
  })

  it('runs unseen, and leaves nothing behind, where the path of its socket is too long in bytes alone', () => {
    const name = 'é'.repeat(40)
    mkdirSync(join(session, name))
    delete process.env['XDG_RUNTIME_DIR']
    process.env['TMPDIR'] = join(session, name)
    showLive({ name: 'a', actors: () => [] })[Symbol.dispose]()
    expect(readdirSync(session, { recursive: true })).to.have.members([name, join(name, `arbalest-${process.getuid!()}`)])
  })

  it('runs unseen where XDG_RUNTIME_DIR is that of another user', function () {
    if (process.getuid?.() !== 0) skip(this, 'only root can start a process of another user')
    const readable = spawnSync(process.execPath, ['-e', 'fs.accessSync(process.argv[1])', fileURLToPath(SERVE)], NOBODY)
    if (readable.status !== 0) skip(this, 'another user cannot read this folder')
    const body = `import { liveProcesses, showLive } from '${SERVE.href}'
      showLive({ name: 'other', actors: () => [] })
      console.log((await liveProcesses()).length)`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', body], NOBODY)
    expect(stderr).to.equal('')
    expect(stdout).to.equal('0\n')
  })

  it('is not looked for where others could put sockets', async () => {
    mkdirSync(folder(), { mode: 0o700 })
    const answer = JSON.stringify({ answer: { pid: process.pid, jobs: [] } })
    const server = createServer((peer) => peer.on('error', () => {}).end(`${answer}\n`)).listen(socket())
    await once(server, 'listening')
    try {
      expect(await liveProcesses()).to.have.length(1)
      chmodSync(folder(), 0o777)
      expect(await liveProcesses()).to.deep.equal([])
    } finally {
      server.close()
    }
  })

  it('leaves nothing behind; the socket of a killed process is removed', async () => {
    const program = async (rest: string) => {
      const body = `import { showLive } from '${SERVE.href}'\nshowLive({ name: 'other', actors: () => [] })\nconsole.log('up')\n${rest}`
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
    const shown = showLive({ name: 'patient', actors: () => [] })
    const silent = connect(socket())
    await once(silent, 'connect')
    expect(await liveProcesses()).to.have.length(1)
    silent.destroy()
    shown[Symbol.dispose]()
  })

  it('is found although other sockets answer nonsense, drip or never end', async () => {
    const shown = showLive({ name: 'mlp on digits', actors: () => [ACTOR] })
    const answers: readonly ((peer: Socket) => void)[] = [
      (peer) => peer.end('null\n'),
      (peer) => peer.end('{"answer":null}'),
      (peer) => peer.end('{}\n'),
      (peer) => peer.end('{"answer":{"pid":1,"jobs":[{"id":"1","name":"x","seconds":1,"actors":[null]}]}}\n'),
      (peer) => void setInterval(() => peer.write(' '), 50).unref(),
      (peer) => flood(peer),
      () => {}
    ]
    let flooded = 0
    const flood = (peer: Socket) => {
      while (!peer.destroyed && peer.write(' '.repeat(2 ** 16)));
      flooded = peer.bytesWritten
      peer.once('drain', () => flood(peer))
    }
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
      // The connection ends once the answer is too long.
      expect(flooded)
        .to.be.above(2 ** 24)
        .and.below(2 ** 26)
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
    const shown = showLive({ name: 'mlp on digits', actors: () => [] })
    expect(readdirSync(folder())).to.deep.equal([`${process.pid}.sock`])
    shown[Symbol.dispose]()
  })

  describe('that takes calls', () => {
    const call = async (given: unknown): Promise<unknown> => {
      if (given === 'fail') throw new ArbalestError('INVALID_STATE', 'gate: it is shut; open it')
      if (given === 'big') return 1n
      return { heard: given }
    }

    it('answers them, and says with a code why one fails', async () => {
      using _deaf = showLive({ name: 'deaf', actors: () => [] })
      using _shown = showLive({ name: 'open', actors: () => [], call })
      const [deaf, open] = (await liveProcesses())[0]!.jobs
      expect(await callJob(process.pid, open!.id, { method: 'pause', args: [1, 'x'] })).to.deep.equal({
        heard: { method: 'pause', args: [1, 'x'] }
      })
      await refused('INVALID_STATE', () => callJob(process.pid, open!.id, 'fail'), 'gate: it is shut')
      await refused('INTERNAL', () => callJob(process.pid, open!.id, 'big'), 'BigInt')
      await refused('INVALID_STATE', () => callJob(process.pid, deaf!.id, 1), 'takes no calls')
      await refused('ACTOR_GONE', () => callJob(process.pid, '99', 1), 'has ended')
      await refused('ACTOR_GONE', () => callJob(2 ** 22 + 1, '1', 1), 'has ended')
    })

    it('fails a call with ACTOR_GONE whose process is killed', async () => {
      const body = `import { showLive } from '${SERVE.href}'\nshowLive({ name: 'slow', actors: () => [], call: () => new Promise(() => {}) })
        setInterval(() => {}, 1000)\nconsole.log('up')`
      const child = spawn(process.execPath, ['--input-type=module', '-e', body], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      const { id } = (await liveProcesses())[0]!.jobs[0]!
      const answer = callJob(child.pid!, id, 'anything')
      setTimeout(() => child.kill('SIGKILL'), 200)
      await refused('ACTOR_GONE', () => answer)
    })

    it('refuses what is not a request, and closes the connection of a client that never sends a line', async () => {
      using _shown = showLive({ name: 'open', actors: () => [], call })
      const say = async (text: string) => {
        const peer = connect(socket()).setEncoding('utf8')
        peer.on('error', () => {})
        peer.write(text)
        let answer = ''
        peer.on('data', (more: string) => (answer += more))
        await once(peer, 'close')
        return answer
      }
      for (const line of ['{', '{}', 'null', '7', '{"ask":"stop"}', '{"ask":"call"}', '{"ask":"call","job":{},"call":1}'])
        expect(JSON.parse(await say(`${line}\n`)), line).to.have.nested.property('error.code')
      expect(await say('x'.repeat(2 ** 17))).to.equal('')
      expect(await say('{"ask"')).to.equal('')
    })
  })
})
