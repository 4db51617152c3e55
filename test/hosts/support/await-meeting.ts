import { engine } from '../../../src/engine/native.js'
import type { Handle } from '../../../src/engine/contract.js'

/** Blocks the thread until the hosts have met: hosts that are threads take a moment. Throws what the engine throws. */
export function awaitMeeting(hosts: Handle): void {
  const never = new Int32Array(new SharedArrayBuffer(4))
  while (engine.hostsPlace(hosts) === null) Atomics.wait(never, 0, 0, 1)
}
