import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { start } from './arbalest.js'

/** The arguments of the run that is killed, without those of its checkpoints. */
export const RUN = [
  'train',
  '--model',
  'lenet',
  '--data',
  'digits',
  '--learners',
  '2',
  '--batch',
  '16',
  '--steps',
  '160',
  '--seed',
  '3',
  '--json'
]

/** The hash of the weights of a run that nobody disturbs. */
export async function undisturbedHash(): Promise<unknown> {
  const ended = await start(RUN).ended
  return ended.lines.at(-1)!['weightsSha256']
}

/**
 * The same command again and again, killed each time at a moment that `next` (0 to 1) chooses, until one comes to its end. Returns the hash of
 * its weights, and how often it was killed.
 */
export async function killedRun(
  dir: string,
  kills: number,
  next: () => number
): Promise<{ readonly hash: unknown; readonly killed: number }> {
  const command = [...RUN, '--checkpoint-dir', dir, '--checkpoint-period', '10', '--resume', 'auto']
  for (let killed = 0; ; killed++) {
    const { child, ended } = start(command)
    if (killed < kills) {
      // From before the first step to about the end.
      await Promise.race([sleep(300 + 3000 * next()), once(child, 'close')])
      child.kill('SIGKILL')
    }
    const outcome = await ended
    if (outcome.signal === 'SIGKILL') continue
    const last = outcome.lines.at(-1)!
    if (last['event'] !== 'finished') throw new Error(`ended with ${JSON.stringify(last)}`)
    return { hash: last['weightsSha256'], killed }
  }
}
