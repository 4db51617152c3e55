import type { Engine, Handle } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'
import { ArbalestError } from '../../src/errors.js'

/** Copies of groups that have not been released. */
export const copies = new Set<Handle>()

/** The native engine on a machine without memory for a copy of a replica. */
export const engine: Engine = {
  ...native,
  captureGroup(group) {
    const copy = native.captureGroup(group)
    copies.add(copy)
    return copy
  },
  captureReplica(replica) {
    if (copies.size > 0) throw new ArbalestError('OUT_OF_MEMORY', 'replica: no memory for a copy of it')
    return native.captureReplica(replica)
  },
  release(handle) {
    copies.delete(handle)
    native.release(handle)
  }
}
