import type { BoundProgram, LearnerContext, LearnerPlugin } from 'arbalest'

export interface ClassWeights {
  /** How much a sample of each class counts. */
  readonly weights: readonly number[]
}

/** Learns by a cross-entropy in which the samples of some classes count more: PyTorch's `CrossEntropyLoss(weight=weights)`. */
export default class WeighingLearner implements LearnerPlugin {
  readonly #weights: readonly number[]
  readonly #program: BoundProgram

  constructor({ options, replica }: LearnerContext<ClassWeights>) {
    this.#weights = options.weights
    this.#program = replica.program({ mode: 'train', loss: 'custom' })
  }

  async step(): Promise<void> {
    const program = this.#program
    await program.load()
    await program.forward()
    const { loss, gradient } = weightedLoss(program.read('output'), program.read('target') as Int32Array, this.#weights)
    program.write('output.gradient', gradient)
    program.write('loss', Float32Array.of(loss))
    await program.backward()
    await program.exchange()
    await program.update()
  }
}

/** The mean of the cross-entropies of a batch of logits (N, K), each weighted by its label's class, and its gradient with respect to the logits. */
export function weightedLoss(
  logits: Float32Array,
  labels: Int32Array,
  weights: readonly number[]
): { loss: number; gradient: Float32Array } {
  const classes = logits.length / labels.length
  const total = labels.reduce((sum, label) => sum + weights[label]!, 0)
  const gradient = new Float32Array(logits.length)
  let loss = 0
  for (const [sample, label] of labels.entries()) {
    const row = logits.subarray(sample * classes, (sample + 1) * classes)
    const most = row.reduce((a, b) => Math.max(a, b))
    const logSum = most + Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - most), 0))
    const share = weights[label]! / total
    loss += share * (logSum - row[label]!)
    for (const [k, logit] of row.entries()) gradient[sample * classes + k] = share * (Math.exp(logit - logSum) - (k === label ? 1 : 0))
  }
  return { loss, gradient }
}
