import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeCuda } from '../../src/engine/cuda.js'
import type { JobEvent } from '../../src/training/events.js'
import { skip } from '../support/skip.js'

/** The GPU under `npm run test:gpu`, else its stand-in. */
const DEVICE = process.env['ARBALEST_TEST_GPU'] ? 'cuda' : 'cuda-host'
const FAULT = fileURLToPath(new URL('support/gpu-fault.js', import.meta.url))
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
    expect(first!.reason).to.match(/^no memory for 1 more: .*; 1 learner it is$/)
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
    // Elsewhere than in the project's own folder and where the loader looks.
    const hidden = { ARBALEST_CUDA_PATH: '', LD_LIBRARY_PATH: '' }
    const script = `import { describeCuda } from ${JSON.stringify(new URL('../../src/engine/cuda.js', import.meta.url).href)}
      console.log(JSON.stringify(describeCuda().missing))`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: { ...process.env, ...hidden }
    })
    const missing = Object.entries(JSON.parse(stdout || stderr) as Record<string, string>).filter(([name]) => name !== 'driver')
    const libraries = missing.filter(([, why]) => why.includes(' is not to be found'))
    if (libraries.length === 0) skip(this, 'every library is in .cuda or where the loader looks')
    const sentence = /^backend cuda: [^\n]+ \(lib[\w.-]+\) is not to be found; run `npx arbalest setup --cuda`, or name the folder [^\n]+$/
    for (const [name, why] of libraries) expect(why, name).to.match(sentence)
    if (DEVICE !== 'cuda' || !libraries.some(([name]) => name === 'cuDNN')) return
    const { errors } = outcomeOf(['library', DEVICE], hidden)
    expect(errors.map(({ code }) => code)).to.include('BACKEND_UNAVAILABLE')
    expect(errors[0]!.message).to.match(/is not to be found; run `npx arbalest setup --cuda`/).and.not.include('\n')
  })
})
