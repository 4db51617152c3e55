import type { Feeder, FeederOptions, SourceStream, SkippedSample } from './feeder.js'
import type { JobScope } from './job-scope.js'
import type { Dataset } from '../data/dataset.js'
import { readerThreads } from '../data/reader-pool.js'
import type { Engine, Handle } from '../engine/contract.js'
import { usableCores } from '../engine/machine.js'
import { ArbalestError } from '../errors.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import { describeExit } from '../runtime/exit-reason.js'

const FEEDER = new URL('./feeder.js', import.meta.url)

/** The supply of streamed samples for a job. */
export interface Feed {
  /** Never resolves; rejects if the data cannot be read, or if the feeder dies too often. */
  readonly failed: Promise<never>
}

/** Starts a feeder that fills the streams, and restarts it if it dies. Without streams there is no feeder, and the feed never fails. */
export async function startFeed(
  { feed = {} }: Dataset,
  streams: readonly SourceStream[],
  { engineModule, system }: JobScope,
  { seed, skipped }: { readonly seed: number; readonly skipped: (sample: SkippedSample) => void }
): Promise<Feed> {
  if (streams.length === 0) return { failed: new Promise(() => {}) }
  const { threads, onBadSample = 'fail' } = feed
  const options: FeederOptions = { engine: engineModule.href, seed, threads: readerThreads(usableCores(), threads), onBadSample, streams }
  const feeder = await system.spawn<typeof Feeder>(FEEDER, 'Feeder', options, { name: 'feeder', restart: 'permanent' })
  const failed = reportSkipped(feeder, skipped)
  // The job awaits `failed` later: until then a rejection must not count as unhandled.
  failed.catch(() => {})
  return { failed }
}

/** If the feed fails, cancels the native calls in which these replicas wait for data: it will never come. */
export function cancelIfFeedFails({ failed }: Feed, replicas: readonly Handle[], engine: Engine): void {
  failed.catch(() => {
    for (const replica of replicas) engine.cancel(replica)
  })
}

/** Reports skipped samples, across restarts of the feeder. */
async function reportSkipped(feeder: ActorRef<Feeder>, skipped: (sample: SkippedSample) => void): Promise<never> {
  for (;;) {
    try {
      for (const sample of await feeder.askWith({ deadline: Infinity }).news()) skipped(sample)
    } catch (error) {
      if (!(error instanceof ArbalestError && error.code === 'ACTOR_GONE')) throw error
      await throwIfEnded(feeder, error)
    }
  }
}

/** Returns at once if the feeder is being restarted; never returns if the job stopped it. Throws ACTOR_FAILED if it is not restarted any more. */
async function throwIfEnded(feeder: ActorRef<Feeder>, cause: Error): Promise<void> {
  const reason = await Promise.race([feeder.exited, Promise.resolve(undefined)])
  if (!reason) return
  if (reason.kind === 'stopped') await new Promise(() => {})
  const message = `feeder: it ended too often to go on; at last ${describeExit(reason)}`
  throw new ArbalestError('ACTOR_FAILED', message, { cause, data: { actor: feeder.name } })
}
