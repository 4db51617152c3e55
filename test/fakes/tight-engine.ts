import type { Engine } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'

/** What the machine of `engine` has free. */
export const machine = { freeMemory: Infinity }

/** The native engine on a machine with less memory. Learners' threads have a module of their own, and ask for none. */
export const engine: Engine = { ...native, describe: () => ({ ...native.describe(), freeMemory: machine.freeMemory }) }
