import type { BoundProgram, LearnerContext, LearnerPlugin, Model, Teacher } from 'arbalest'

export interface Distillation {
  readonly teacher: Model
  /** The teacher's safetensors file. */
  readonly weights: string
  /** Softens both distributions; 1 changes nothing. */
  readonly temperature: number
  /** The teacher's share of the loss, 0 to 1; the labels have the rest. */
  readonly share: number
}

/**
 * Learns from the outputs of a trained teacher as well as from the labels.
 *
 * Hinton, Vinyals and Dean, "Distilling the Knowledge in a Neural Network", 2015.
 */
export default class DistillingLearner implements LearnerPlugin {
  readonly #context: LearnerContext<Distillation>
  readonly #student: BoundProgram
  #teacher!: Teacher

  constructor(context: LearnerContext<Distillation>) {
    this.#context = context
    this.#student = context.replica.program({ mode: 'train', loss: 'custom' })
  }

  async started(): Promise<void> {
    const { teacher: model, weights } = this.#context.options
    this.#teacher = await this.#context.teacher({ model, weights, batch: this.#student.batch })
  }

  async step(): Promise<void> {
    const student = this.#student
    await student.load()
    await student.forward()
    const advice = this.#teacher.predict(student.read('input') as Float32Array)
    const { loss, gradient } = distillationLoss(student.read('output'), advice, student.read('target') as Int32Array, this.#context.options)
    student.write('output.gradient', gradient)
    student.write('loss', Float32Array.of(loss))
    await student.backward()
    await student.exchange()
    await student.update()
  }
}

/**
 * The loss (1 - share) H(label, p) + share T^2 KL(teacher's softmax at T, student's at T), as the mean over a batch of logits (N, K), and its gradient
 * with respect to the student's logits.
 */
export function distillationLoss(
  logits: Float32Array,
  advice: Float32Array,
  labels: Int32Array,
  { temperature, share }: Pick<Distillation, 'temperature' | 'share'>
): { loss: number; gradient: Float32Array } {
  const classes = logits.length / labels.length
  const gradient = new Float32Array(logits.length)
  let loss = 0
  for (const [sample, label] of labels.entries()) {
    const row = (of: Float32Array) => of.subarray(sample * classes, (sample + 1) * classes)
    const plain = softmax(row(logits), 1)
    const soft = softmax(row(logits), temperature)
    const taught = softmax(row(advice), temperature)
    loss -= (1 - share) * Math.log(plain[label]!)
    for (let k = 0; k < classes; k++) {
      loss += share * temperature ** 2 * taught[k]! * Math.log(taught[k]! / soft[k]!)
      const hard = plain[k]! - (k === label ? 1 : 0)
      row(gradient)[k] = ((1 - share) * hard + share * temperature * (soft[k]! - taught[k]!)) / labels.length
    }
  }
  return { loss: loss / labels.length, gradient }
}

function softmax(logits: Float32Array, temperature: number): Float64Array {
  const most = logits.reduce((a, b) => Math.max(a, b))
  // Above zero, because a logarithm follows.
  const powers = Float64Array.from(logits, (logit) => Math.exp((logit - most) / temperature) + 1e-30)
  const sum = powers.reduce((a, b) => a + b)
  return powers.map((power) => power / sum)
}
