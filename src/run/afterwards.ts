import { ArbalestError, messageOf } from '../errors.js'

/**
 * Takes every one of these steps after a run, whatever those before it have thrown. What has ended the run is what its caller is told; what goes
 * wrong after that is a warning. Never rejects.
 */
export async function afterwards(...steps: readonly (() => unknown)[]): Promise<void> {
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      // Whoever is gone has ended already.
      if (error instanceof ArbalestError && error.code === 'ACTOR_GONE') continue
      process.emitWarning(`what a run has begun cannot be ended: ${messageOf(error)}`, 'ArbalestWarning')
    }
  }
}
