import { GraphWriter } from '../model/graph-writer.js'
import { NONE, type ValueId } from '../model/graph.js'
import type { Pieces } from '../turns.js'
import type { LoweredStep, LoweredStepOperator } from './lower.js'
import { PLAIN, SEGMENTS, type SegmentName } from './program.js'
import { inOrder } from './step.js'

/** The positions of a batch norm's inputs: forwards of x and the sums; backwards of x, mean, y, the two gradients and the sums. */
const FORWARD = { x: 0, sums: 4 } as const
const BACKWARD = { x: 0, mean: 2, y: 4, gradients: [5, 6], sums: 7 } as const
const SUMS_FORM = { type: 'f32', layout: PLAIN } as const

/**
 * A batch norm needs two sums over all pixels of each channel: of its input x and of x^2; backwards of its gradient, and of its gradient times (x - mean). If the convolution that
 * writes the image can give partial sums, those of each tile of it, the batch norm only adds them up: it reads the image once instead of twice.
 *
 * Operators of a backend whose answers have `partialSums` then have further ports:
 * - conv2d: ... -> y, sums (tiles, C, 2)
 * - batchNorm: x, gamma, beta, residual?, sums -> ...
 * - conv2dBackwardData: gy, w, x, mean, y?, gx2? -> gx, sums, of g = gx + gx2 masked by y, with `relu` and `most` of the batch norm
 * - batchNormBackward: x, gamma, mean, variance, y?, gy, gy2?, sums -> ...
 */
export function* withPartialSums(step: LoweredStep): Pieces<LoweredStep> {
  const rewriting = new Rewriting(step)
  for (const operator of inOrder(step.segments)) {
    rewriting.visit(operator)
    yield
  }
  return rewriting.finish()
}

class Rewriting {
  readonly #step: LoweredStep
  readonly #writer: GraphWriter
  /** The batch norms that read a value as x, and their gradients that read it as a gradient. */
  readonly #forwards = new Map<ValueId, LoweredStepOperator[]>()
  readonly #backwards = new Map<ValueId, LoweredStepOperator[]>()
  readonly #changed = new Map<LoweredStepOperator, LoweredStepOperator>()
  readonly #written = new Set<ValueId>()

  constructor(step: LoweredStep) {
    this.#step = step
    const { name, batch, values, named } = step
    this.#writer = new GraphWriter({ name, batch, values, operators: [], named })
    for (const operator of inOrder(step.segments)) {
      if (operator.kind === 'batchNorm') note(this.#forwards, operator, [FORWARD.x])
      if (operator.kind === 'batchNormBackward') note(this.#backwards, operator, BACKWARD.gradients)
    }
  }

  /** Operators come in their order. */
  visit(operator: LoweredStepOperator): void {
    for (const id of operator.outputs) this.#written.add(id)
    if (!operator.partialSums) return
    if (operator.kind === 'conv2d') this.#sumForwards(operator)
    else this.#sumBackwards(operator)
  }

  finish(): LoweredStep {
    const { name, batch, named } = this.#step
    const { values } = this.#writer.graph(name, batch, named)
    const segments = Object.fromEntries(
      SEGMENTS.map((segment) => [segment, this.#step.segments[segment].map((operator) => this.#changed.get(operator) ?? operator)])
    ) as Record<SegmentName, LoweredStepOperator[]>
    return { ...this.#step, values: values.map((value) => this.#step.values[value.id] ?? { ...value, form: SUMS_FORM }), segments }
  }

  #sumForwards(convolution: LoweredStepOperator): void {
    const norms = this.#forwards.get(convolution.outputs[0]!) ?? []
    if (norms.length === 0) return
    const sums = this.#sumsOf(convolution)
    this.#changed.set(convolution, { ...convolution, outputs: [convolution.outputs[0]!, sums] })
    for (const norm of norms) this.#give(norm, FORWARD.sums, sums)
  }

  #sumBackwards(convolution: LoweredStepOperator): void {
    const gradient = convolution.outputs[0]!
    const [norm] = this.#backwards.get(gradient) ?? []
    if (!norm) return
    const input = (position: number): ValueId => norm.inputs[position] ?? NONE
    const others = BACKWARD.gradients.map(input).filter((id) => id !== gradient)
    // A gradient that is added to itself has no other.
    if (others.length !== 1) return
    const operands = [input(BACKWARD.x), input(BACKWARD.mean), input(BACKWARD.y), others[0]!]
    // Of two convolutions whose gradients are added, the one that runs last can read both.
    if (!operands.every((id) => id === NONE || this.#written.has(id))) return
    const { relu = 0, most } = norm.attributes
    const sums = this.#sumsOf(convolution)
    this.#changed.set(convolution, {
      ...convolution,
      inputs: [...convolution.inputs.slice(0, 2), ...operands],
      outputs: [gradient, sums],
      attributes: { ...convolution.attributes, relu, ...(most !== undefined && { most }) }
    })
    this.#give(norm, BACKWARD.sums, sums)
  }

  #sumsOf({ partialSums, outputs }: LoweredStepOperator): ValueId {
    const { name, shape } = this.#writer.get(outputs[0]!)
    return this.#writer.value(this.#writer.freeName(`${name}.sums`), [partialSums!, shape[1]!, 2], { type: 'statistic' })
  }

  #give(norm: LoweredStepOperator, position: number, sums: ValueId): void {
    const inputs = Array.from({ length: position }, (_, i) => norm.inputs[i] ?? NONE)
    this.#changed.set(norm, { ...norm, inputs: [...inputs, sums], scratchBytes: 0 })
  }
}

/** Notes an operator as a reader of its inputs at some positions. */
function note(readers: Map<ValueId, LoweredStepOperator[]>, operator: LoweredStepOperator, positions: readonly number[]): void {
  for (const id of new Set(positions.map((position) => operator.inputs[position] ?? NONE))) {
    if (id === NONE) continue
    const found = readers.get(id)
    if (found) found.push(operator)
    else readers.set(id, [operator])
  }
}
