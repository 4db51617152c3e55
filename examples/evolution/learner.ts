import type { LearnerContext, LearnerPlugin } from 'arbalest'

export interface Evolution {
  /** Where the learners see each other: a Float64Array of two numbers a place, its rate and its loss. */
  readonly board: SharedArrayBuffer
  /** The first rates, one a place. */
  readonly rates: readonly number[]
  /** Steps between two looks at the others, and looks before a learner may be judged. */
  readonly stride: number
  readonly patience: number
  /** A loss so many times the best one's means that the learner lags. */
  readonly margin: number
}

/**
 * Learners with rates of their own. One that lags gives up its place; the supervisor fills it with another, which takes the best
 * learner's rate, changed a little, and the central model's weights.
 *
 * After Jaderberg et al., "Population Based Training of Neural Networks", 2017.
 */
export default class EvolvingLearner implements LearnerPlugin {
  readonly #context: LearnerContext<Evolution>
  readonly #board: Float64Array
  #looks = 0

  constructor(context: LearnerContext<Evolution>) {
    const { options, replica, rank, learner, learners } = context
    this.#context = context
    this.#board = new Float64Array(options.board)
    const best = this.#best()
    // Numbers from `learners` on are those of successors; odd ones dare a little more, even ones a little less.
    const rate = learner < learners || best === undefined ? options.rates[rank]! : best.rate * (learner % 2 === 1 ? 1.2 : 0.8)
    replica.learningRate = rate
    this.#board.set([rate, 0], 2 * rank)
  }

  async step(): Promise<void> {
    const { replica, options, rank, learner } = this.#context
    const { lossSum, steps } = await replica.run(options.stride)
    const loss = lossSum / steps
    this.#board[2 * rank + 1] = loss
    const best = this.#best()
    if (++this.#looks < options.patience || best === undefined || loss <= options.margin * best.loss) return
    throw new Error(
      `learner ${learner} lags: loss ${loss.toFixed(3)} at rate ${replica.learningRate} where ${best.loss.toFixed(3)} is the best`
    )
  }

  /** Of the other places. */
  #best(): { rate: number; loss: number } | undefined {
    let best: { rate: number; loss: number } | undefined
    for (let place = 0; 2 * place < this.#board.length; place++) {
      const rate = this.#board[2 * place]!
      // One that has only begun is still better than nobody.
      const loss = this.#board[2 * place + 1]! || Infinity
      if (place !== this.#context.rank && rate > 0 && loss <= (best?.loss ?? Infinity)) best = { rate, loss }
    }
    return best
  }
}
