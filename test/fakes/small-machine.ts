import type { Engine } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'

/** The bytes that are free, in this thread. */
export const machine = { free: Infinity }

/** The native engine on a machine with so much memory. */
export const engine: Engine = {
  ...native,
  describe: () => ({ ...native.describe(), freeMemory: machine.free })
}
