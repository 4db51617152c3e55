import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { newestWhole } from '../../../src/checkpoints/store.js'
import type { FinishedEvent } from '../../../src/observe/events.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import type { Job } from '../../../src/run/job.js'
import { train } from '../../../src/run/train.js'
import { chatter, type Chatter, type ChatterOptions } from './chatter.js'
import { manyRounds } from './talked-to.js'

const THREAD = new URL('../../fakes/chattering-thread.js', import.meta.url)
const PROCESS = fileURLToPath(new URL('../../fakes/chattering-process.js', import.meta.url))
/** A learner that has states of its own, and that dies when it is told to. */
export const WARM = { learner: new URL('../../fakes/warm-learner.js', import.meta.url), learnerOptions: { temperature: 1 } }
export const ENDLESS = { until: { steps: 10_000_000 }, evaluateEvery: 1e9, supervision: { restarts: 10_000 } }

export interface Disturbance {
  readonly seed?: number
  /** Whether learners are told to die. */
  readonly deadly?: boolean
}

export interface MessagedRun {
  readonly finished: FinishedEvent
  readonly chatter: readonly Chatter[]
  /** The options of the run, without its checkpoints. */
  readonly options: TrainOptions
  /** Ends with what is in the folder, from which the run may be resumed. */
  readonly folder: string
}

/** Of a run without an end of its own. */
export function endlessOptions(): Promise<TrainOptions> {
  return manyRounds({ ...WARM, optimiser: { learningRate: 0.05, milestones: [] }, ...ENDLESS })
}

/** Sends a job so many messages in all, at random times, from this thread and two others. */
export function disturb(job: Job, messages: number, { seed = 1, deadly = false }: Disturbance = {}): Promise<Chatter[]> {
  const share = (sender: number): ChatterOptions => ({ seed: 10 * seed + sender, messages: Math.ceil(messages / 3), deadly })
  const threads = [1, 2].map(async (sender): Promise<Chatter> => {
    const port = job.connect()
    const worker = new Worker(THREAD, { workerData: { port, options: share(sender) }, transferList: [port] })
    const [found] = (await once(worker, 'message')) as [Chatter]
    await worker.terminate()
    return found
  })
  return Promise.all([chatter(job.actors, share(0)), ...threads])
}

/** A run, without an end of its own, that is sent messages at random times. It ends when all are sent. */
export async function messagedRun(messages: number, disturbance: Disturbance = {}, given?: TrainOptions): Promise<MessagedRun> {
  const folder = mkdtempSync(join(tmpdir(), 'arbalest-chatter-'))
  const options = given ?? (await endlessOptions())
  const job = train({ ...options, checkpoint: { dir: folder, keep: 2 } })
  const sent = await disturb(job, messages, disturbance)
  job.stop()
  return { finished: await job.finished, chatter: sent, options, folder }
}

/** What a run that is killed shall remember. */
const REMEMBERED = ['set', 'message', 'resize', 'pause']

export interface Kill {
  readonly seed: number
  /** How many the process writes after all kinds of changes have been made, before it is killed. */
  readonly checkpoints: number
}

/** A run in a process of its own that is disturbed until SIGKILL ends it. What it leaves is in the folder. */
async function killedRun(folder: string, { seed, checkpoints }: Kill): Promise<void> {
  const child = spawn(process.execPath, [PROCESS, folder, String(seed)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const awaited = new Set(REMEMBERED)
  let written = 0
  // A checkpoint is told of while the next one may be under way, and the first one may have been begun before the last of the changes.
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== 'checkpoint') awaited.delete(line)
    else if (awaited.size === 0 && ++written > checkpoints) child.kill('SIGKILL')
  }
  const [code, signal] = (await closed) as [number | null, string | null]
  expect([code, signal]).to.deep.equal([null, 'SIGKILL'])
}

/** The run's interventions, given to another run, end with its weights. */
export async function expectRepeated({ finished, options }: MessagedRun): Promise<void> {
  const { iterations, interventions = [], weightsSha256 } = finished
  const repeated = await train({ ...options, until: { steps: iterations }, interventions }).finished
  expect(repeated).to.include({ iterations, weightsSha256 })
}

/** The run, resumed and ended in the middle again, goes on to the same weights as one that repeats it all: also the deaths that were still to come. */
export async function expectResumed({ finished, options, folder }: MessagedRun): Promise<void> {
  const until = { steps: finished.iterations + 500 }
  const resumed = await train({ ...options, until, checkpoint: { dir: folder } }).finished
  const { interventions = [] } = resumed
  expect(interventions.slice(0, finished.interventions!.length)).to.deep.equal(finished.interventions)
  const repeated = await train({ ...options, until, interventions }).finished
  expect(resumed.weightsSha256).to.equal(repeated.weightsSha256)
}

/** A run that is disturbed and killed several times goes on to the weights of one that repeats, undisturbed, what it remembers. */
export async function expectSurvivesKills(kills: readonly Kill[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'arbalest-chatter-'))
  for (const kill of kills) await killedRun(folder, kill)
  const options = await endlessOptions()
  const { iteration } = (await newestWhole(folder, () => {}))!
  const until = { steps: iteration + 500 }
  const resumed = await train({ ...options, until, checkpoint: { dir: folder } }).finished
  const { interventions = [] } = resumed
  expect(new Set(interventions.map(({ kind }) => kind))).to.include.keys(...REMEMBERED)
  const repeated = await train({ ...options, until, interventions }).finished
  expect(resumed).to.include({ iterations: until.steps, weightsSha256: repeated.weightsSha256 })
  remove({ folder })
}

export function remove({ folder }: Pick<MessagedRun, 'folder'>): void {
  rmSync(folder, { recursive: true })
}
