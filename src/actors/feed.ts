import type { Feeder, FeederOptions, Lane, SkippedSample } from './feeder.js'
import type { Dataset } from '../data/dataset.js'
import { readerThreads } from '../data/reader-pool.js'
import type { Engine, Handle } from '../engine/contract.js'
import { usableCores } from '../engine/machine.js'
import { ArbalestError } from '../errors.js'
import { describeExit } from '../runtime/exit-reason.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import type { Spawner } from '../runtime/context.js'

const FEEDER = new URL('./feeder.js', import.meta.url)

/** Who feeds the streams of a run. */
export interface Feed {
  /** Never resolves; rejects where the data cannot be read, or the feeder ends too often. */
  readonly failed: Promise<never>
}

export interface FeedPlace {
  /** Exports the engine. */
  readonly engine: URL
  readonly seed: number
  readonly system: Spawner
  readonly skipped: (sample: SkippedSample) => void
}

/** Starts a feeder for the streams, if there are any. It is started anew where it dies. */
export async function startFeed(
  { feed = {} }: Dataset,
  lanes: readonly Lane[],
  { engine, seed, system, skipped }: FeedPlace
): Promise<Feed> {
  if (lanes.length === 0) return { failed: new Promise(() => {}) }
  const { threads, onBadSample = 'fail' } = feed
  const options: FeederOptions = { engine: engine.href, seed, threads: readerThreads(usableCores(), threads), onBadSample, lanes }
  const feeder = await system.spawn<typeof Feeder>(FEEDER, 'Feeder', options, { name: 'feeder', restart: 'permanent' })
  const failed = follow(feeder, skipped)
  // Who runs the job meets it there.
  failed.catch(() => {})
  return { failed }
}

/** What waits in native code for data that will never come is cancelled. */
export function breakOff({ failed }: Feed, replicas: readonly Handle[], engine: Engine): void {
  failed.catch(() => {
    for (const replica of replicas) engine.cancel(replica)
  })
}

/** Listens to one life of the feeder after the other. */
async function follow(feeder: ActorRef<Feeder>, skipped: FeedPlace['skipped']): Promise<never> {
  for (;;) {
    try {
      for (const sample of await feeder.askWith({ deadline: Infinity }).news()) skipped(sample)
    } catch (error) {
      if (!(error instanceof ArbalestError && error.code === 'ACTOR_GONE')) throw error
      await lastEnd(feeder, error)
    }
  }
}

/** Returns at once where the feeder lives again or will. */
async function lastEnd(feeder: ActorRef<Feeder>, cause: Error): Promise<void> {
  const reason = await Promise.race([feeder.exited, Promise.resolve(undefined)])
  if (!reason) return
  // The run has ended and its actors with it.
  if (reason.kind === 'stopped') await new Promise(() => {})
  const message = `feeder: it ended too often to go on; at last ${describeExit(reason)}`
  throw new ArbalestError('ACTOR_FAILED', message, { cause, data: { actor: feeder.name } })
}
