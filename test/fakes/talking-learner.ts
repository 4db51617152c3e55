import type { ArbalestError } from '../../src/errors.js'
import type { LearnerContext, LearnerPlugin } from '../../src/index.js'

interface Hearer {
  hear(what: string): void
}

/** The learner in place 1 talks to the others in its twentieth step. */
export default class TalkingLearner implements LearnerPlugin {
  readonly #context: LearnerContext
  #steps = 0

  constructor(context: LearnerContext) {
    this.#context = context
  }

  async step(): Promise<void> {
    const { replica, rank } = this.#context
    await replica.run(1)
    if (rank === 1 && ++this.#steps === 20) await this.#talk()
  }

  hear(what: string): void {
    if (what === '') throw new RangeError('nothing was said')
  }

  async #talk(): Promise<void> {
    const { synchroniser, supervisor, learner } = this.#context.actors
    const { learners } = await supervisor.ask.population()
    const code = await synchroniser.ask.set({ momentum: 0.2 }).then(
      () => 'none',
      (error: unknown) => (error as ArbalestError).code
    )
    synchroniser.tell.set({ learningRate: { factor: 0.5 } })
    learner<Hearer>(0).tell.hear(`ask: ${code}, status: ${learners} learners`)
  }
}
