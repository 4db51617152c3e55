import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { run, start, type Running } from '../support/arbalest.js'
import { FewDigits } from '../support/few-digits.js'

const few = await FewDigits.make()
after(() => few[Symbol.asyncDispose]())

// Without evaluations, during which learners rest.
const MODEL = ['--model', 'mlp', ...few.flags, '--learners', '2', '--batch', '8']
const SLOW_LEARNER = fileURLToPath(new URL('../../fakes/slow-learner.js', import.meta.url))
const ENDLESS = ['train', ...MODEL, '--learner', SLOW_LEARNER, '--steps', '100000000', '--evaluate-every', '100000', '--json']

interface Line {
  readonly jobs: readonly { readonly pid: number; readonly name: string; readonly seconds: number; readonly actors: readonly Actor[] }[]
}
interface Actor {
  readonly name: string
  readonly thread: number
  readonly messages: number
  readonly deferred: number
  readonly heap: number
}

describe('arbalest top', () => {
  let session: string
  let env: Record<string, string>
  let job: Running | undefined
  beforeEach(() => {
    session = mkdtempSync(join(tmpdir(), 'arbalest-top-'))
    // Neither what else runs on this machine nor the tests' own settings are seen.
    env = { XDG_RUNTIME_DIR: session, TMPDIR: session, ARBALEST_TOP: 'on' }
    job = undefined
  })
  afterEach(async () => {
    job?.child.kill('SIGKILL')
    await job?.ended
    rmSync(session, { recursive: true })
  })

  const training = async (more: Record<string, string> = {}) => {
    job = start(ENDLESS, { env: { ...env, ...more } })
    await job.said('"progress"')
    return job.child
  }

  it('shows the actors of a job that runs, as a plain table where stdout is no terminal', async () => {
    const { pid } = await training()
    const { code, stdout, stderr } = await run(['top', '--once'], { env })
    expect(code, stderr).to.equal(0)
    const [head, titles, ...rows] = stdout.trimEnd().split('\n')
    expect(head).to.match(new RegExp(`^${pid}  mlp on mnist  \\d:\\d\\d$`))
    expect(titles).to.match(/^actor .* state .* messages .* heap$/)
    expect(rows.map((row) => /^\S+(?: \d+)?/.exec(row)![0])).to.include.members(['synchroniser', 'supervisor', 'evaluator 0'])
    expect(rows.filter((row) => /learner \d/.test(row))).to.have.length(2)
    expect(stdout).to.not.contain('\x1b')
  })

  it('tells in JSON of each actor’s thread, messages and memory, again and again until the job ends', async () => {
    const child = await training()
    const top = start(['top', '--json', '--pid', String(child.pid)], { env })
    await top.said('"top"')
    child.kill('SIGINT')
    const { code, stderr, lines } = await top.ended
    expect(code, stderr).to.equal(0)
    const [shown, ...others] = (lines[0] as unknown as Line).jobs
    expect(others).to.deep.equal([])
    expect(shown).to.include({ pid: child.pid, name: 'mlp on mnist' })
    const learners = shown!.actors.filter(({ name }) => /learner \d$/.test(name))
    expect(new Set(learners.map(({ thread }) => thread)).size).to.equal(2)
    for (const { thread, messages, deferred, heap } of learners) {
      expect(thread).to.be.above(0)
      expect(messages).to.be.above(0)
      expect(deferred).to.equal(1)
      expect(heap).to.be.within(1e6, 1e9)
    }
    expect(readdirSync(join(session, 'arbalest'))).to.deep.equal([])
  })

  it('tells of a process that does not answer, which `ctl` does not take for one without a job', async () => {
    const child = await training()
    const pid = String(child.pid)
    child.kill('SIGSTOP')
    const stopped = await run(['top', '--once', '--pid', pid], { env })
    expect(stopped.stdout, stopped.stderr).to.equal(`${pid}  does not answer: it is suspended, or busy\n`)
    for (const args of [['status'], ['stop', pid]]) {
      const { code, stderr } = await run(['ctl', ...args], { env })
      expect(code).to.equal(1)
      expect(stderr).to.match(new RegExp(`^DEADLINE_EXCEEDED: PID: process ${pid}: no answer within 2000 ms; wake it `))
    }
    child.kill('SIGCONT')
    expect((await run(['ctl', 'status', pid], { env })).stdout).to.match(/^training: /)
  })

  it('says that nothing runs, and refuses a process that shows nothing', async () => {
    const none = await run(['top', '--once'], { env })
    expect(none.code).to.equal(0)
    expect(none.stdout).to.match(/^No job of this user runs/)
    const { pid } = await training({ ARBALEST_TOP: 'off' })
    const hidden = await run(['top', '--pid', String(pid)], { env })
    expect(hidden.code).to.equal(2)
    expect(hidden.stderr).to.equal(`UNKNOWN_NAME: --pid: received ${pid}; no job of this user runs here: start one\n`)
    expect((await run(['top', '--pid', 'x'], { env })).stderr).to.match(/^INVALID_OPTION: --pid: received "x"/)
  })
})
