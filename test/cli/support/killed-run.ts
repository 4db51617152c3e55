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

/** When a run is killed: so many milliseconds after it has said a text, or after its start. */
export interface Moment {
  readonly said?: string
  readonly wait: number
}

/** What a run says when a checkpoint is on the disk. */
export const WRITTEN = '"reason":null'

/**
 * The same command again and again, killed each time at the next of the moments, until one comes to its end. Returns the hash of its weights, how often it was killed, and
 * whether the last one went on from a checkpoint.
 */
export async function killedRun(
  dir: string,
  moments: readonly Moment[]
): Promise<{ readonly hash: unknown; readonly killed: number; readonly resumed: boolean }> {
  const command = [...RUN, '--checkpoint-dir', dir, '--checkpoint-period', '10', '--resume', 'auto']
  for (let killed = 0; ; killed++) {
    const { child, ended, said } = start(command)
    const moment = moments[killed]
    if (moment) {
      // It may come to its end before.
      if (moment.said !== undefined) await said(moment.said).catch(() => {})
      await Promise.race([sleep(moment.wait), ended])
      child.kill('SIGKILL')
    }
    const outcome = await ended
    if (outcome.signal === 'SIGKILL') continue
    const last = outcome.lines.at(-1)!
    if (last['event'] !== 'finished') throw new Error(`ended with ${JSON.stringify(last)}`)
    return { hash: last['weightsSha256'], killed, resumed: outcome.lines.some(({ event }) => event === 'resumed') }
  }
}
