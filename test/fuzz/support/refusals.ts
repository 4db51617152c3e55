import { ArbalestError, type ErrorCode } from '../../../src/errors.js'

/** The result of a reader. A refusal by a code that is not among `codes` becomes a fault. */
export async function refusingBy<T>(codes: readonly ErrorCode[], read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ArbalestError && !codes.includes(error.code))
      throw new Error(`refused by ${error.code}: ${error.message}`, { cause: error })
    throw error
  }
}
