import type { LearnerContext, LearnerPlugin } from '../../src/learner/learner-plugin.js'

/** The iteration in which the first learner dies, when it has computed half of its gradient. */
const LAST = 12

/** Trains segment by segment. The first learner of a job dies in a step; those that take its place do not. */
export default function ({ replica, learner, iteration, options: { how } }: LearnerContext<{ how: 'throw' | 'exit' }>): LearnerPlugin {
  return {
    async step() {
      await replica.load()
      await replica.forward()
      if (learner === 0 && iteration() === LAST) {
        if (how === 'exit') process.exit(9)
        throw new RangeError('learner: told to die')
      }
      await replica.backward()
      await replica.exchange()
      await replica.update()
    }
  }
}
