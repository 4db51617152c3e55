import type { Engine } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'

let full = false

/** The native engine on a machine whose memory other programs take as soon as a run has begun. */
export const engine: Engine = {
  ...native,
  describe: () => ({ ...native.describe(), freeMemory: full ? 2 ** 20 : 2 ** 34 }),
  createGroup(spec) {
    full = true
    return native.createGroup(spec)
  }
}
