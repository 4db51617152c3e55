import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeCuda, type CudaReport } from '../../src/engine/cuda.js'
import type { JobEvent } from '../../src/observe/events.js'
import { skip } from '../support/skip.js'

/** The GPU under `npm run test:gpu`, else its stand-in. */
const DEVICE = process.env['ARBALEST_TEST_GPU'] ? 'cuda' : 'cuda-host'
const FAULT = fileURLToPath(new URL('support/gpu-fault.js', import.meta.url))
const RELEASE = fileURLToPath(new URL('../../../native/build/Release/', import.meta.url))
/** As much as the stand-in has; a GPU has what it has. */
const MEMORY = String(2 ** 31)

interface Outcome {
  readonly events: readonly JobEvent[]
  /** Of what a job ended with, and of its causes. */
  readonly errors: readonly { readonly code: string; readonly message: string }[]
  readonly checkpoints: readonly string[]
  readonly before: number
  readonly after: number
}

/** What came of a fault in a process of its own. */
function outcomeOf(args: readonly string[], env: NodeJS.ProcessEnv = {}): Outcome {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [FAULT, ...args], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    timeout: 100_000,
    killSignal: 'SIGKILL',
    env: { ...process.env, ARBALEST_CUDA_HOST_MEMORY: MEMORY, ...env }
  })
  expect([status, signal], stderr).to.deep.equal([0, null])
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Outcome
}

const named = <Name extends JobEvent['event']>({ events }: Outcome, name: Name) =>
  events.filter((event): event is Extract<JobEvent, { event: Name }> => event.event === name)

describe(`Faults of a device (${DEVICE})`, function () {
  this.timeout(240_000)

  it('are refusals where its memory ends, and those who have theirs go on', () => {
    const { before, after } = outcomeOf(['memory', DEVICE])
    expect(before).to.be.above(0)
    expect(after).to.be.within(0, before)
  })

  it('keep a population from growing where nothing is left, and it goes on as it is', () => {
    const outcome = outcomeOf(['growth', DEVICE])
    expect(outcome.errors).to.deep.equal([])
    const [first, ...others] = named(outcome, 'population')
    expect(first).to.include({ action: 'settle', from: 1, to: 1 })
    expect(first!.reason).to.match(/^no memory for 1 more: .*; settled on 1 learner$/)
    expect(others.every(({ to }) => to === 1)).to.equal(true)
    expect(named(outcome, 'finished')[0]!.iterations).to.be.above(first!.iteration)
  })

  it('end a job with their cause where they stay, and with its last checkpoint whole', () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-gpu-fault-'))
    try {
      const failed = outcomeOf(['failure', DEVICE, folder, join(folder, 'checkpoint-000000000010')])
      // As itself, or as what ended the learners.
      expect(failed.errors.map(({ code }) => code)).to.include('DEVICE_FAILED')
      expect(failed.errors[0]!.code).to.be.oneOf(['DEVICE_FAILED', 'LEARNER_FAILED'])
      expect(failed.errors[0]!.message).not.to.include('\n')
      expect(named(failed, 'finished')).to.deep.equal([])
      expect(failed.checkpoints).to.include('checkpoint-000000000010')
      const resumed = outcomeOf(['failure', DEVICE, folder])
      expect(named(resumed, 'resumed')[0]).to.deep.include({ folder: join(folder, failed.checkpoints.at(-1)!), refused: [] })
      expect(named(resumed, 'finished')[0]).to.include({ reason: 'completed', iterations: 40 })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('are one sentence where a library is missing (cuda)', function () {
    const report = describeCuda()
    if (typeof report === 'string') skip(this, report)
    // The addon as it would be without `.cuda` beside it.
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-no-library-'))
    try {
      const release = join(folder, 'native/build/Release')
      mkdirSync(release, { recursive: true })
      for (const name of ['arbalest.node', 'libarbalest-cuda.so']) symlinkSync(join(RELEASE, name), join(release, name))
      const script = `const addon = { exports: {} }
        process.dlopen(addon, ${JSON.stringify(join(release, 'arbalest.node'))})
        console.log(addon.exports.describe('cuda').detail)`
      const hidden = { ARBALEST_CUDA_PATH: '', LD_LIBRARY_PATH: '' }
      const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', env: { ...process.env, ...hidden } })
      expect(stdout, stderr).to.match(/^{/)
      const missing = Object.entries((JSON.parse(stdout) as CudaReport).missing)
      const libraries = missing.filter(([, why]) => why.includes(' is not to be found'))
      if (libraries.length === 0) skip(this, 'the loader finds every library by itself')
      for (const [name, why] of libraries)
        expect(why, name).to.match(
          /^backend cuda: \w[^\n]* \(lib[^\n)]+\) is not to be found; run `npx arbalest setup --cuda`, or name the folder [^\n]+ ARBALEST_CUDA_PATH$/
        )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('end a job with one sentence where its libraries are missing', function () {
    if (DEVICE !== 'cuda') skip(this, 'the stand-in needs none')
    const hidden = { ARBALEST_CUDA_PATH: '', LD_LIBRARY_PATH: '' }
    const { errors } = outcomeOf(['library', DEVICE], hidden)
    if (errors.length === 0) skip(this, 'they are in .cuda, or the loader finds them by itself')
    expect(errors.map(({ code }) => code)).to.include('BACKEND_UNAVAILABLE')
    expect(errors[0]!.message)
      .to.match(/ is not to be found; run `npx arbalest setup --cuda`, or name the folder/)
      .and.not.include('\n')
  })
})
