import { loadEngine, type Engine, type HostsSpec, type RefusedMessages } from '../../engine/contract.js'
import { usableProcessors } from '../../engine/machine.js'
import { ArbalestError, type ErrorCode } from '../../errors.js'
import { placeOnMachine } from '../../hosts/launcher.js'
import { coresOfHub, memoryNodes } from '../../hosts/memory-nodes.js'
import { joiningProcess } from '../../hosts/several-processes.js'
import { tenancyOf } from '../../hosts/tenants.js'
import { Hub } from './hub.js'
import { part } from './join.js'
import { DEADLINE } from './meeting.js'
import { RunHost } from './run-host.js'

const ENGINE = new URL('../../engine/native.js', import.meta.url)

/** How a hub is stopped, and whom it tells. */
export interface HubOptions {
  /** When it aborts, each run ends at its next round. */
  readonly signal?: AbortSignal | undefined
  /** Called for each of several jobs when it has ended. */
  readonly onServed?: ((served: ServedEvent) => void) | undefined
}

/** A hub has served one of its jobs to its end. */
export interface ServedEvent {
  readonly event: 'served'
  /** Its number among the jobs that share the hub, from 0. */
  readonly job: number
  /** Messages that were not this job's, by what was wrong with them. None of them has changed anything. */
  readonly refused: RefusedMessages
  /** Why the job has ended, unless it was completed or stopped. The other jobs go on. */
  readonly failed?: { readonly code: ErrorCode; readonly message: string }
}

/**
 * Serves a run over several hosts as a hub: makes the sums of those that train, and applies their rule. The processes are those of one launcher, and hubs are
 * the last ones; see docs/clusters.md. Resolves at the end of the run. Rejects with the error that ends it, such as HOST_LOST, and with INVALID_STATE if this
 * process was started alone. A hub of several jobs resolves when all of them have ended, and tells the error of each by `onServed`.
 */
export async function hub({ signal, onServed }: HubOptions = {}): Promise<void> {
  const launched = joiningProcess()
  if (!launched)
    throw new ArbalestError(
      'INVALID_STATE',
      'hub: this process was started alone; start hubs beside processes that train: arbalest launch -n 4 --hubs 1 -- train ...'
    )
  const engine = await loadEngine(ENGINE.href)
  // Threads that begin later keep to them too.
  const cores = coresOfHub(memoryNodes(usableProcessors()), placeOnMachine())
  if (cores) engine.keepToCores(cores)
  const tenancy = tenancyOf(launched)
  if (!tenancy) return serveHub(engine, { kind: 'mpi', deadline: DEADLINE }, signal)
  const links = tenancy.hostsOf
  const specs = links.map((_, number): HostsSpec => ({ kind: 'mpi', number, links, sealed: true, deadline: DEADLINE }))
  await serveJobs(engine, specs, { signal, onServed })
}

/** Serves several jobs at once, each by a sealed link of its own: one that fails ends alone. */
export async function serveJobs(engine: Engine, specs: readonly HostsSpec[], { signal, onServed }: HubOptions = {}): Promise<void> {
  await Promise.all(
    specs.map(async (spec, job) => {
      let refused: RefusedMessages = { nonces: 0, lengths: 0, keys: 0 }
      let failed: ServedEvent['failed']
      try {
        await serveHub(engine, spec, signal, (counts) => (refused = counts))
      } catch (error) {
        if (!(error instanceof ArbalestError)) throw error
        failed = { code: error.code, message: error.message }
      }
      onServed?.({ event: 'served', job, refused, ...(failed && { failed }) })
    })
  )
}

/** Serves one job, by this way to meet its other hosts. `tell` gets what was refused, at the end. */
export async function serveHub(
  engine: Engine,
  spec: HostsSpec,
  signal?: AbortSignal,
  tell?: (refused: RefusedMessages) => void
): Promise<void> {
  using host = await RunHost.open(engine, spec, 'hub')
  const serving = new Hub(engine, host)
  const stop = () => serving.stop()
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    await serving.serve()
  } finally {
    signal?.removeEventListener('abort', stop)
    await part(host)
    if (host.refused) tell?.(host.refused)
  }
}
