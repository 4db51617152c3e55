import type { LearnerContext, LearnerPlugin } from 'arbalest'

export interface Evolution {
  /** The shared results: a Float64Array with two numbers for each place, its rate and its loss. */
  readonly board: SharedArrayBuffer
  /** The initial rates, one for each place. */
  readonly rates: readonly number[]
  /** `stride`: steps between two comparisons with the others; `patience`: comparisons before a learner may be replaced. */
  readonly stride: number
  readonly patience: number
  /** A learner lags if its loss is more than `margin` times the best one's and more than `noise` above it: near the end small losses differ by chance. */
  readonly margin: number
  readonly noise: number
}

/**
 * Learners with rates of their own. A learner that lags ends; the supervisor starts another one in its place, which takes the best learner's rate, slightly
 * changed, and the central model's weights.
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
    // A number from `learners` on is that of a successor: odd ones take a higher rate, even ones a lower one.
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
    if (++this.#looks < options.patience || best === undefined) return
    if (loss <= Math.max(options.margin * best.loss, best.loss + options.noise)) return
    throw new Error(
      `learner ${learner} lags: loss ${loss.toFixed(3)} at rate ${replica.learningRate} where ${best.loss.toFixed(3)} is the best`
    )
  }

  /** The best of the other places. */
  #best(): { rate: number; loss: number } | undefined {
    let best: { rate: number; loss: number } | undefined
    for (let place = 0; 2 * place < this.#board.length; place++) {
      const rate = this.#board[2 * place]!
      // A place without a loss yet is the last choice.
      const loss = this.#board[2 * place + 1]! || Infinity
      if (place !== this.#context.rank && rate > 0 && loss <= (best?.loss ?? Infinity)) best = { rate, loss }
    }
    return best
  }
}
