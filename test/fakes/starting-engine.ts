import type { Engine } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'

/** Called when a run of this thread makes its group: it has chosen its checkpoint, and has no thread yet. */
export const start = { begins: () => {} }

/** The native engine with a hook at the start of a run. */
export const engine: Engine = {
  ...native,
  createGroup(spec) {
    start.begins()
    return native.createGroup(spec)
  }
}
