import { setTimeout as sleep } from 'node:timers/promises'
import type { LearnerContext } from '../../src/index.js'

/** Rests after each step: it trains beside a test that looks at the run, and leaves it the processor. */
export default ({ replica }: LearnerContext) =>
  async (): Promise<void> => {
    await replica.run(1)
    await sleep(10)
  }
