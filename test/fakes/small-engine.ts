import type { Engine } from '../../src/engine/contract.js'
import { engine as fake } from './engine.js'

/** The fake engine on a machine that is nearly full. */
export const engine: Engine = { ...fake, describe: () => ({ ...fake.describe(), freeMemory: 10_000 }) }
