import { ArbalestError, messageOf } from '../errors.js'

/**
 * Runs all steps that end a run, in their order, also after one of them has thrown. Never rejects: the caller gets the error that ended the run, and the
 * errors of the steps become warnings. An actor that has gone already needs no end.
 */
export async function runAllCleanUps(...steps: readonly (() => unknown)[]): Promise<void> {
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      if (error instanceof ArbalestError && error.code === 'ACTOR_GONE') continue
      process.emitWarning(`a run was not cleaned up: ${messageOf(error)}`, 'ArbalestWarning')
    }
  }
}
