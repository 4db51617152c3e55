import type { Engine } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'

/** Whether `describe` fails, in the thread that sets it. */
export const description = { fails: false }

/** The native engine, until it is told to fail. */
export const engine: Engine = {
  ...native,
  describe() {
    if (description.fails) throw new Error('told to fail')
    return native.describe()
  }
}
