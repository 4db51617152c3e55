import type { Engine, Handle } from '../../src/engine/contract.js'
import { engine as whole } from '../../src/engine/native.js'

let hosts: Handle | undefined

/** Imported with `?at=capture`, it leaves when it is to copy its learners for a checkpoint. */
const leavesAtCapture = new URL(import.meta.url).searchParams.get('at') === 'capture'

/** The engine of a host that leaves the others in the middle of a run, as when its process is killed. */
export const engine: Engine = {
  ...whole,
  openHosts: (spec) => (hosts = whole.openHosts(spec)),
  captureGroup: (group) => {
    if (leavesAtCapture) leave()
    return whole.captureGroup(group)
  }
}

export function leave(): void {
  whole.abortHosts(hosts!, 1)
}
