import { loadEngine, type Engine, type HostsSpec } from '../../engine/contract.js'
import { ArbalestError } from '../../errors.js'
import { joiningProcess } from '../../hosts/several-processes.js'
import { Hub } from './hub.js'
import { part } from './join.js'
import { DEADLINE } from './meeting.js'
import { RunHost } from './run-host.js'

const ENGINE = new URL('../../engine/native.js', import.meta.url)

/** How a hub is stopped. */
export interface HubOptions {
  /** When it aborts, the run ends at its next round. */
  readonly signal?: AbortSignal
}

/**
 * Serves a run over several hosts as a hub: makes the sums of those that train, and applies their rule. The processes are those of one launcher, and hubs are
 * the last ones; see docs/clusters.md. Resolves at the end of the run. Rejects with the error that ends it, such as HOST_LOST, and with INVALID_STATE if this
 * process was started alone.
 */
export async function hub({ signal }: HubOptions = {}): Promise<void> {
  if (!joiningProcess())
    throw new ArbalestError(
      'INVALID_STATE',
      'hub: this process was started alone; start hubs beside processes that train: arbalest launch -n 4 --hubs 1 -- train ...'
    )
  await serveHub(await loadEngine(ENGINE.href), { kind: 'mpi', deadline: DEADLINE }, signal)
}

/** As `hub`, with this way to meet the other hosts. */
export async function serveHub(engine: Engine, spec: HostsSpec, signal?: AbortSignal): Promise<void> {
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
  }
}
