import { loadEngine, type Engine, type HostsSpec, type RefusedMessages } from '../../engine/contract.js'
import { usableProcessors } from '../../engine/machine.js'
import { ArbalestError } from '../../errors.js'
import { placeOnMachine } from '../../hosts/launcher.js'
import { coresOfHub, memoryNodes } from '../../hosts/memory-nodes.js'
import { joiningProcess } from '../../hosts/several-processes.js'
import { tenancyOf } from '../../hosts/tenants.js'
import { Hub } from './hub.js'
import { check } from '../../schema/faults.js'
import { hubOptions, type HubOptions, type ServedEvent } from './hub-options.js'
import { part, told } from './join.js'
import { DEADLINE } from './hosts-spec.js'
import { RunHost } from './run-host.js'

const ENGINE = new URL('../../engine/native.js', import.meta.url)

/** See `hub`. */
export async function serveLaunched(options: HubOptions = {}): Promise<void> {
  const { signal, onServed } = check(hubOptions, options)
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
  const stop = () => told(() => serving.stop())
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
