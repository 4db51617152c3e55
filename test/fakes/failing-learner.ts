import type { LearnerContext, LearnerPlugin } from '../../src/learner/learner-plugin.js'
import BuiltInLearner from '../../src/learner/built-in-learner.js'
import { ArbalestError } from '../../src/errors.js'

const HOW = new URL(import.meta.url).searchParams.get('how')
/** How many steps succeed before it fails. */
const GOOD_TURNS = 2

/** Fails in the way that the query of its module's address names: `?how=throw`, `exit`, `reject`, `start`, `born`. */
export class Learner extends BuiltInLearner implements LearnerPlugin {
  #turns = 0

  constructor(context: LearnerContext) {
    super(context)
    if (HOW === 'start') throw new ArbalestError('OUT_OF_MEMORY', 'replica: told to fail')
  }

  override step(): Promise<unknown> {
    if (HOW === 'born') throw new SyntaxError('learner: told to fail before its first step')
    if (++this.#turns > GOOD_TURNS) {
      if (HOW === 'throw') throw new ArbalestError('INTERNAL', 'learner: told to fail', { data: { turns: this.#turns } })
      if (HOW === 'exit') process.exit(9)
      if (HOW === 'reject') void Promise.reject(new RangeError('learner: told to reject'))
    }
    return super.step()
  }
}
