import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import type { FinishedEvent } from '../../../src/observe/events.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { train } from '../../../src/run/train.js'
import { chatter, type Chatter, type ChatterOptions } from './chatter.js'
import { manyRounds } from './talked-to.js'

const THREAD = new URL('../../fakes/chattering-thread.js', import.meta.url)
const WARM_LEARNER = new URL('../../fakes/warm-learner.js', import.meta.url)

export interface DisturbedRun {
  readonly finished: FinishedEvent
  readonly chatter: readonly Chatter[]
  /** The options of the run, without its checkpoints. */
  readonly options: TrainOptions
  /** Ends with what is in the folder, from which the run may be resumed. */
  readonly folder: string
}

/** A run that is sent so many messages in all, at random times, from this thread and two others. It ends when all are sent. */
export async function disturbedRun(messages: number, { seed = 1, deadly = false } = {}): Promise<DisturbedRun> {
  const folder = mkdtempSync(join(tmpdir(), 'arbalest-chatter-'))
  const options = await manyRounds({
    learner: WARM_LEARNER,
    learnerOptions: { temperature: 1 },
    optimiser: { learningRate: 0.05, milestones: [] },
    until: { steps: 10_000_000 },
    evaluateEvery: 1e9,
    supervision: { restarts: 10_000 }
  })
  const job = train({ ...options, checkpoint: { dir: folder, keep: 2 } })
  const share = (sender: number): ChatterOptions => ({ seed: 10 * seed + sender, messages: Math.ceil(messages / 3), deadly })
  const threads = [1, 2].map(async (sender): Promise<Chatter> => {
    const port = job.connect()
    const worker = new Worker(THREAD, { workerData: { port, options: share(sender) }, transferList: [port] })
    const [found] = (await once(worker, 'message')) as [Chatter]
    await worker.terminate()
    return found
  })
  const sent = await Promise.all([chatter(job.actors, share(0)), ...threads])
  job.stop()
  return { finished: await job.finished, chatter: sent, options, folder }
}

/** The run's interventions, given to another run, end with its weights. */
export async function expectRepeated({ finished, options }: DisturbedRun): Promise<void> {
  const { iterations, interventions = [], weightsSha256 } = finished
  const repeated = await train({ ...options, until: { steps: iterations }, interventions }).finished
  expect(repeated).to.include({ iterations, weightsSha256 })
}

/** The run, resumed and ended in the middle again, goes on to the same weights as one that repeats it all. */
export async function expectResumed({ finished, options, folder }: DisturbedRun): Promise<void> {
  const until = { steps: finished.iterations + 500 }
  const resumed = await train({ ...options, until, checkpoint: { dir: folder } }).finished
  const repeated = await train({ ...options, until, interventions: finished.interventions! }).finished
  expect(resumed.weightsSha256).to.equal(repeated.weightsSha256)
}

export function remove({ folder }: DisturbedRun): void {
  rmSync(folder, { recursive: true })
}
