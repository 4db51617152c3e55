import type { Engine, Handle } from '../../src/engine/contract.js'
import { engine as whole } from '../../src/engine/native.js'

let hosts: Handle | undefined

/** The engine of a host that leaves the others in the middle of a run, as when its process is killed. */
export const engine: Engine = { ...whole, openHosts: (spec) => (hosts = whole.openHosts(spec)) }

export function leave(): void {
  whole.abortHosts(hosts!, 1)
}
