import { existsSync, writeFileSync } from 'node:fs'
import { engine as native } from '../../src/engine/native.js'
import type { Engine } from '../../src/engine/contract.js'

/** How many batches a feeder makes before it fails. */
const BEFORE = 7
let given = 0

/**
 * The native engine, in which the first incarnation of a feeder fails as ARBALEST_TEST_ENDING says; with `always` every incarnation fails.
 * The file ARBALEST_TEST_MARK records that one has failed.
 */
export const engine: Engine = {
  ...native,
  feedBatch(...batch) {
    const mark = process.env['ARBALEST_TEST_MARK']!
    const ending = process.env['ARBALEST_TEST_ENDING']
    if (++given === BEFORE && (ending === 'always' || !existsSync(mark))) {
      writeFileSync(mark, '')
      if (ending === 'exit') process.exit(3)
      // Outside the feeder's promises, so nothing catches it.
      setImmediate(() => {
        throw new Error('on purpose')
      })
    }
    native.feedBatch(...batch)
  }
}
