import { Learner as RealLearner } from '../../src/actors/learner.js'
import { ArbalestError } from '../../src/errors.js'

const HOW = new URL(import.meta.url).searchParams.get('how')
/** Turns that go well before. */
const GOOD_TURNS = 2

/** Fails as the query of its module's address says: `?how=throw`, `exit`, `reject`, `start`. */
export class Learner extends RealLearner {
  #turns = 0

  override async started(): Promise<void> {
    await super.started()
    if (HOW === 'start') throw new ArbalestError('OUT_OF_MEMORY', 'replica: told to fail')
  }

  override turn(): void {
    if (++this.#turns > GOOD_TURNS) {
      if (HOW === 'throw') throw new ArbalestError('INTERNAL', 'learner: told to fail', { data: { turns: this.#turns } })
      if (HOW === 'exit') process.exit(9)
      if (HOW === 'reject') void Promise.reject(new RangeError('learner: told to reject'))
    }
    super.turn()
  }
}
