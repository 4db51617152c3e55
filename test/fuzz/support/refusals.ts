import { ArbalestError, type ErrorCode } from '../../../src/errors.js'

/** What a reader gives, or its refusal; a refusal by any code that is not its own is a fault of the reader. */
export async function refusingBy<T>(codes: readonly ErrorCode[], read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ArbalestError && !codes.includes(error.code))
      throw new Error(`refused by ${error.code}: ${error.message}`, { cause: error })
    throw error
  }
}
