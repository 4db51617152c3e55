import { existsSync, writeFileSync } from 'node:fs'
import { engine as native } from '../../src/engine/native.js'
import type { Engine } from '../../src/engine/contract.js'

/** Batches that a feeder gives before it fails. */
const BEFORE = 7
let given = 0

/**
 * The native engine, in which the first life of a feeder ends as ARBALEST_TEST_ENDING says, and under `always` every one; the file
 * ARBALEST_TEST_MARK tells that one has.
 */
export const engine: Engine = {
  ...native,
  feedBatch(...batch) {
    const mark = process.env['ARBALEST_TEST_MARK']!
    const ending = process.env['ARBALEST_TEST_ENDING']
    if (++given === BEFORE && (ending === 'always' || !existsSync(mark))) {
      writeFileSync(mark, '')
      if (ending === 'exit') process.exit(3)
      // Outside of the feeder's own promises: nothing catches it.
      setImmediate(() => {
        throw new Error('on purpose')
      })
    }
    native.feedBatch(...batch)
  }
}
