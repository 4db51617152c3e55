import type { BoundProgram, LearnerContext, LearnerPlugin } from 'arbalest'

export interface FocalLoss {
  /** How little the samples count that are classified surely; 0 is the cross-entropy. */
  readonly gamma: number
}

/** Learns by the focal loss (Lin et al., ICCV 2017), in which samples that are classified surely count little. */
export default class FocusingLearner implements LearnerPlugin {
  readonly #gamma: number
  readonly #program: BoundProgram

  constructor({ options, replica }: LearnerContext<FocalLoss>) {
    this.#gamma = options.gamma
    this.#program = replica.program({ mode: 'train', loss: 'custom' })
  }

  async step(): Promise<void> {
    const program = this.#program
    await program.load()
    await program.forward()
    const { loss, gradient } = focalLoss(program.read('output'), program.read('target') as Int32Array, this.#gamma)
    program.write('output.gradient', gradient)
    program.write('loss', Float32Array.of(loss))
    await program.backward()
    await program.exchange()
    await program.update()
  }
}

/** The mean over a batch of -(1 - p)^gamma log p, where p is the probability that logits (N, K) give a label; and its gradient with respect to the logits. */
export function focalLoss(logits: Float32Array, labels: Int32Array, gamma: number): { loss: number; gradient: Float32Array } {
  const classes = logits.length / labels.length
  const gradient = new Float32Array(logits.length)
  let loss = 0
  for (const [sample, label] of labels.entries()) {
    const row = logits.subarray(sample * classes, (sample + 1) * classes)
    const most = row.reduce((a, b) => Math.max(a, b))
    const logSum = most + Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - most), 0))
    const logP = row[label]! - logSum
    // 1 - p would be 0 long before the other classes have no probability.
    const [p, others] = [Math.exp(logP), -Math.expm1(logP)]
    const focus = others ** gamma
    loss -= (focus * logP) / labels.length
    // Of the loss with respect to log p, which has the gradient (k is the label) - p[k].
    const slope = (gamma === 0 || others === 0 ? 0 : gamma * p * others ** (gamma - 1) * logP) - focus
    for (const [k, logit] of row.entries())
      gradient[sample * classes + k] = (slope * ((k === label ? 1 : 0) - Math.exp(logit - logSum))) / labels.length
  }
  return { loss, gradient }
}
