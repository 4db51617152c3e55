import { ArbalestError } from '../../src/errors.js'

/** The ArbalestError that `run` throws; anything else fails the test. */
export function thrown(run: () => unknown): ArbalestError {
  try {
    run()
  } catch (error) {
    if (error instanceof ArbalestError) return error
    throw error
  }
  throw new Error('expected an ArbalestError, and nothing was thrown')
}
