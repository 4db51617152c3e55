import type { HubOptions } from './hub-options.js'

/**
 * Serves a run over several hosts as a hub: makes the sums of those that train, and applies their rule. The processes are those of one launcher, and hubs are
 * the last ones; see docs/clusters.md. Resolves at the end of the run. Rejects with the error that ends it, such as HOST_LOST, and with INVALID_STATE if this
 * process was started alone. A hub of several jobs resolves when all of them have ended, and tells the error of each by `onServed`.
 */
export async function hub(options: HubOptions = {}): Promise<void> {
  const { serveLaunched } = await import('./serve-hub.js')
  await serveLaunched(options)
}
