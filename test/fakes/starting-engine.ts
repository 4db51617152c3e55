import type { Engine } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'

/** Called where a run of this thread makes its group: it knows what it goes on from, and has no thread yet. */
export const start = { begins: () => {} }

/** The native engine, in which a run is met on its way. */
export const engine: Engine = {
  ...native,
  createGroup(spec) {
    start.begins()
    return native.createGroup(spec)
  }
}
