import type { Engine } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'

/** The bytes that are free on the machine of `engine`, in this thread alone: learners' threads have a module of their own, and do not ask. */
export const machine = { freeMemory: Infinity }

/** The native engine on a machine with so much memory. */
export const engine: Engine = { ...native, describe: () => ({ ...native.describe(), freeMemory: machine.freeMemory }) }
