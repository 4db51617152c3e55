import { expect } from 'chai'
import { ArbalestError, type ErrorCode } from '../../src/errors.js'

/** Runs what must fail with `code`, with a message of one line that has all of `words`; returns the error. */
export async function refused(code: ErrorCode, work: () => unknown, ...words: readonly string[]): Promise<ArbalestError> {
  let error: unknown
  try {
    await work()
  } catch (caught) {
    error = caught
  }
  expect(error, 'nothing was thrown').to.be.instanceOf(ArbalestError)
  const refusal = error as ArbalestError
  expect(refusal.code, refusal.message).to.equal(code)
  expect(refusal.message).to.not.include('\n')
  for (const word of words) expect(refusal.message).to.include(word)
  return refusal
}
