import type { LearnerContext, LearnerPlugin } from '../../src/learner/learner-plugin.js'
import type { BoundProgram } from '../../src/learner/bound-program.js'

/** What a learner saw of its job, posted as the message of the error that ends it. */
export interface Findings {
  readonly rank: number
  readonly learners: number
  readonly seed: number
  readonly samples: number
  readonly iterations: number
  readonly greeting: string
  readonly outputShape: readonly number[]
  /** The evaluation's loss on the batch before and after the step on it. */
  readonly before: number
  readonly after: number
  /** How far the weights moved with a learning rate of 0. */
  readonly moved: number
  readonly refusedInside: string
  /** The largest difference to the outputs of a teacher with the same weights. */
  readonly teacher: number
}

/** Tries what a learner can do, and ends with its findings. */
export default class InquisitiveLearner implements LearnerPlugin {
  readonly #context: LearnerContext<string>
  #evaluate!: BoundProgram

  constructor(context: LearnerContext<string>) {
    this.#context = context
  }

  started(): void {
    this.#evaluate = this.#context.replica.program({ mode: 'evaluate' })
  }

  async step(): Promise<void> {
    const { replica, options, rank, learners, seed, samples, iterations, model } = this.#context
    replica.learningRate = 0
    await replica.run(1)
    const weights = replica.vector('weights') as Float32Array
    await replica.run(1)
    const moved = largestDifference(weights, replica.vector('weights'))

    const before = await this.#loss()
    replica.learningRate = 0.05
    let refusedInside = ''
    for (let step = 0; step < 30; step++) {
      await replica.load({ samples: Array.from({ length: replica.batch }, (_, i) => i) })
      if (step === 0) refusedInside = String(await this.#loss().catch((error: unknown) => (error as { code?: string }).code))
      await replica.forward()
      await replica.backward()
      await replica.exchange()
      await replica.update()
    }
    const after = await this.#loss()

    const input = this.#evaluate.read('input') as Float32Array
    const predict = replica.program({ mode: 'predict' })
    predict.write('input', input)
    await predict.run(1)
    const teacher = await this.#context.teacher({ model, weights: replica.vector('weights') as Float32Array, batch: replica.batch })
    const answers = teacher.predict(input)
    const findings: Findings = {
      rank,
      learners,
      seed,
      samples,
      iterations,
      greeting: options,
      outputShape: predict.shape('output'),
      before,
      after,
      moved,
      refusedInside,
      teacher: largestDifference(answers, predict.read('output'))
    }
    throw new Error(JSON.stringify(findings))
  }

  /** The loss on the first batch of the training samples, in their own order. */
  async #loss(): Promise<number> {
    return (await this.#evaluate.run(1, { position: 0 })).lossSum
  }
}

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = 0
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!))
  return largest
}
