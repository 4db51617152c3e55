import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ArbalestError } from './errors.js'
import { Laboratory } from './hosts/laboratory.js'
import { pytorchRanks } from './hosts/pytorch-ranks.js'
import { pythonsWithTorch } from './python.js'

/** A job of PyTorch DDP. */
export interface DdpJob {
  readonly model: string
  /** Samples of a process's step. */
  readonly batch: number
}

/** Seconds from its start until a job has made its first steps. */
const PATIENCE = 120
/** Steps of each job before the window. */
const WARM = 3

/**
 * Steps a second of jobs of PyTorch DDP over Gloo that share cores and links plainly: each job has a process of one thread on each of some hosts, whose links
 * have `mbit` megabits a second. Throws BACKEND_UNAVAILABLE.
 */
export async function ddpSteps(
  jobs: readonly DdpJob[],
  { hosts, mbit, seconds }: { readonly hosts: number; readonly mbit?: number; readonly seconds: number }
): Promise<readonly number[]> {
  const [python] = await pythonsWithTorch()
  // A laboratory of their own: they have no end, and end with it.
  await using laboratory = await Laboratory.open(hosts, mbit)
  const script = fileURLToPath(new URL('../peers/pytorch_ddp.py', import.meta.url))
  const ends: (readonly number[])[] = jobs.map(() => [])
  const children = jobs.flatMap(({ model, batch }, job) =>
    pytorchRanks(laboratory, hosts, python!, [script, '--model', model, '--batch', String(batch)], job).map((command): ChildProcess => {
      const child = spawn(command.program, command.args, { env: { ...process.env, ...command.env }, stdio: ['ignore', 'pipe', 'inherit'] })
      createInterface({ input: child.stdout }).on('line', (line) => (ends[job] = [...ends[job]!, Number(line)]))
      return child
    })
  )
  try {
    const late = performance.now() + 1000 * PATIENCE
    const hasEnded = () => children.some(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null)
    while (ends.some(({ length }) => length < WARM)) {
      if (hasEnded() || performance.now() > late)
        throw new ArbalestError('INTERNAL', `pytorch_ddp.py: ${jobs.map(({ model }) => model).join(' and ')} have not made ${WARM} steps`)
      await sleep(20)
    }
    const before = ends.map(({ length }) => length)
    const until = performance.now() + 1000 * seconds
    // Of each job some steps at least.
    while (performance.now() < until || ends.some(({ length }, job) => length < before[job]! + WARM)) {
      if (hasEnded()) throw new ArbalestError('INTERNAL', 'pytorch_ddp.py: a process ended while steps were counted; stderr says why')
      await sleep(20)
    }
    return ends.map((times, job) => (times.length - before[job]!) / (times.at(-1)! - times[before[job]! - 1]!))
  } finally {
    await Promise.all(
      children.map(async (child) => {
        if (child.exitCode !== null) return
        const ended = once(child, 'exit')
        child.kill('SIGKILL')
        await ended
      })
    )
  }
}
