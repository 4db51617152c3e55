import { ArbalestError } from '../errors.js'
import { buildComposedGradient } from '../model/composed.js'
import {
  elements,
  NONE,
  sameShape,
  type ComposedGradient,
  type Graph,
  type Operator,
  type OperatorKind,
  type Value,
  type ValueId
} from '../model/graph.js'
import { GraphWriter } from '../model/graph-writer.js'
import { operatorRow, type Backpropagation } from '../model/operators/table.js'
import { atOnce, type Pieces } from '../turns.js'
import { forwardStep, present, type Step } from './step.js'

/**
 * Reverse-mode differentiation: adds the operators that give the gradient of the graph's losses (their sum, where there are several)
 * with respect to every parameter, in values of role `parameterGradient`. Nothing is computed for what no trained parameter reaches. A named
 * value `output.gradient` is the gradient of a loss that the caller computes.
 *
 * Throws INVALID_MODEL where an operator that has no gradient lies between a parameter and a loss.
 */
export function differentiate(graph: Graph): Step {
  return atOnce(differentiateInPieces(graph))
}

/** The same, an operator at a time. */
export function* differentiateInPieces(graph: Graph): Pieces<Step> {
  const writer = new GraphWriter(graph)
  const pass = new ReversePass(graph, writer)
  const composed = composedSpans(graph)
  for (const operator of graph.operators.toReversed()) {
    const whole = composed.get(operator)
    if (!whole) pass.visit(operator)
    else if (operator.outputs.includes(whole.y)) pass.visitComposed(whole)
    yield
  }
  pass.finish()
  yield
  const { values, operators } = writer.graph(graph.name, graph.batch, graph.named)
  const step = forwardStep(graph)
  return { ...step, values, segments: { ...step.segments, backward: read(operators.slice(graph.operators.length), values, graph.named) } }
}

/** The operators whose results are gradients of parameters, or lead to one. */
function read(backward: readonly Operator[], values: readonly Value[], named: Graph['named']): Operator[] {
  const wanted = new Set<ValueId>([
    ...Object.values(named),
    ...values.filter(({ role }) => role === 'parameterGradient').map(({ id }) => id)
  ])
  const kept = backward.toReversed().filter(({ inputs, outputs }) => {
    if (!present(outputs).some((id) => wanted.has(id))) return false
    for (const id of present(inputs)) wanted.add(id)
    return true
  })
  return kept.toReversed()
}

/** Of a sum of what is as wide as parameters are. */
const WIDE = { relu: 0, wide: 1 }

/** Parameters that are trained, and values that they reach: those that have a gradient. */
function reached(graph: Graph): Set<ValueId> {
  const ids = new Set(graph.values.filter(({ role, frozen }) => role === 'parameter' && !frozen).map(({ id }) => id))
  for (const { inputs, outputs } of graph.operators) if (inputs.some((id) => ids.has(id))) for (const id of present(outputs)) ids.add(id)
  return ids
}

/** The operators of a composed layer that are differentiated as one, by the gradient that its module brings. */
interface ComposedSpan {
  readonly x: ValueId
  readonly y: ValueId
  readonly own: ComposedGradient
}

/** By the operators that lead from x to y. */
function composedSpans({ composed = [], named, operators }: Graph): ReadonlyMap<Operator, ComposedSpan> {
  const spans = new Map<Operator, ComposedSpan>()
  if (composed.length === 0) return spans
  const writers = new Map(operators.flatMap((operator) => present(operator.outputs).map((id) => [id, operator] as const)))
  for (const own of composed) {
    const [x, y] = [named[`${own.layer}.input`]!, named[`${own.layer}.output`]!]
    const span: ComposedSpan = { x, y, own }
    const inside = new Set<Operator>()
    const wanted = [y]
    // Backwards from y.
    for (let id = wanted.pop(); id !== undefined; id = wanted.pop()) {
      const operator = id === x ? undefined : writers.get(id)
      if (!operator || inside.has(operator)) continue
      inside.add(operator)
      // A layer within a layer keeps its own gradient.
      if (!spans.has(operator)) spans.set(operator, span)
      wanted.push(...present(operator.inputs))
    }
  }
  return spans
}

class ReversePass {
  readonly #writer: GraphWriter
  readonly #values: readonly Value[]
  readonly #reached: ReadonlySet<ValueId>
  /** Summands of each value's gradient, in the order in which they were written. */
  readonly #summands = new Map<ValueId, ValueId[]>()
  /** How many operators read a value: what the only reader of a parameter contributes is written where the parameter's gradient lies. */
  readonly #readers = new Map<ValueId, number>()

  constructor(graph: Graph, writer: GraphWriter) {
    this.#writer = writer
    this.#values = graph.values
    this.#reached = reached(graph)
    for (const id of graph.operators.flatMap(({ inputs }) => present(inputs))) this.#readers.set(id, (this.#readers.get(id) ?? 0) + 1)
    const { output, 'output.gradient': given } = graph.named
    if (output !== undefined && given !== undefined) this.#addSummand(output, given)
  }

  visit(operator: Operator): void {
    const { gradient, lossGradient } = operatorRow(operator.kind)
    const output = operator.outputs[0] ?? NONE
    if (lossGradient ? !this.#reached.has(operator.inputs[0]!) : !this.#reached.has(output) || !this.#summands.has(output)) return
    const rule = lossGradient ?? gradient
    if (!rule)
      throw new ArbalestError(
        'INVALID_MODEL',
        `layer ${operator.name}: received operator ${operator.kind}, which has no gradient; train without it`
      )
    rule(this.#view(operator))
  }

  visitComposed({ x, y, own }: ComposedSpan): void {
    const summands = this.#summands.get(y)
    if (!summands || !this.#reached.has(x)) return
    const given = this.#sum(summands, `${this.#writer.get(y).name}.gradient`)
    const found = buildComposedGradient(own, this.#writer, { x, y, gradient: given })
    const [wanted, { shape }] = [this.#writer.get(x), this.#writer.get(found)]
    if (sameShape(shape, wanted.shape)) return this.#addSummand(x, found)
    if (elements(shape) !== elements(wanted.shape))
      throw new ArbalestError(
        'SHAPE_MISMATCH',
        `gradient of ${this.#writer.get(y).name}: it gives ${shape.join('x')} where its input is ${wanted.shape.join('x')}`
      )
    const summand = this.#writer.value(this.#writer.freeName(`${own.layer}.gradient.shaped`), wanted.shape)
    this.#writer.operator('reshape', `${own.layer}.gradient`, [found], [summand])
    this.#addSummand(x, summand)
  }

  /** Parameters whose gradient is not written yet: the sum of what several operators give, or what an operator passes on. */
  finish(): void {
    for (const { id, name, role, shape } of this.#values) {
      const summands = this.#summands.get(id)
      if (role !== 'parameter' || !summands || this.#writer.get(summands[0]!).role === 'parameterGradient') continue
      const gradient = this.#gradientOf(name, shape)
      if (summands.length === 1) this.#writer.operator('reshape', `${name}.backward`, summands, [gradient])
      else
        this.#writer.operator('add', `${name}.backward`, [this.#wideSum(summands.slice(0, -1), name), summands.at(-1)!], [gradient], WIDE)
    }
  }

  #view(operator: Operator): Backpropagation {
    const name = `${operator.name}.backward`
    const output = operator.outputs[0] ?? NONE
    const summands = this.#summands.get(output) ?? []
    const gradient = (): ValueId => this.#sum(summands, name)
    const wants = (i: number): boolean => this.#reached.has(operator.inputs[i] ?? NONE)
    const contribution = (i: number): ValueId => this.#contribution(operator.inputs[i]!)
    const emit: Backpropagation['emit'] = (kind, inputs, outputs, attributes) =>
      this.#writer.operator(kind, name, inputs, outputs, attributes)
    return {
      inputs: operator.inputs,
      outputs: operator.outputs,
      attributes: operator.attributes,
      gradient,
      gradientInTwo: () => (summands.length < 2 ? [gradient(), NONE] : [this.#sum(summands.slice(0, -1), name), summands.at(-1)!]),
      maskedGradient: () => (operator.attributes.relu ? this.#masked(output, gradient(), name) : gradient()),
      wants,
      contribution,
      optionalContribution: (i) => (wants(i) ? contribution(i) : NONE),
      beside: (suffix, like) => this.#writer.value(this.#writer.freeName(`${name}.${suffix}`), this.#writer.get(like).shape),
      passOn: (i, summand) => this.#addSummand(operator.inputs[i]!, summand),
      emit
    }
  }

  #contribution(id: ValueId): ValueId {
    const { name, shape, role } = this.#writer.get(id)
    // Operators that give several gradients at once give those of frozen parameters too.
    if (!this.#reached.has(id))
      return this.#writer.value(this.#writer.freeName(`${name}.unused`), shape, role === 'parameter' ? { type: 'statistic' } : {})
    const isParameter = role === 'parameter'
    const summand = (): ValueId =>
      this.#writer.value(
        this.#writer.freeName(isParameter ? `${name}.summand` : `${name}.gradient`),
        shape,
        isParameter ? { type: 'statistic' } : {}
      )
    const gradient = isParameter && this.#readers.get(id) === 1 ? this.#gradientOf(name, shape) : summand()
    this.#addSummand(id, gradient)
    return gradient
  }

  /** Of a parameter, which its name tells: a layer that has the same name is refused. */
  #gradientOf(name: string, shape: readonly number[]): ValueId {
    return this.#writer.value(`${name}.gradient`, shape, { role: 'parameterGradient' })
  }

  #addSummand(id: ValueId, summand: ValueId): void {
    const summands = this.#summands.get(id)
    if (summands) summands.push(summand)
    else this.#summands.set(id, [summand])
  }

  #sum(summands: readonly ValueId[], name: string): ValueId {
    return summands.reduce((sum, summand) => this.#derived('add', `${name}.sum`, [sum, summand], { relu: 0 }))
  }

  /** Of a parameter's gradient. */
  #wideSum(summands: readonly ValueId[], name: string): ValueId {
    return summands.reduce((sum, summand) => this.#derived('add', `${name}.sum`, [sum, summand], WIDE))
  }

  #masked(y: ValueId, gradient: ValueId, name: string): ValueId {
    return this.#derived('reluBackward', `${name}.relu`, [y, gradient])
  }

  #derived(kind: OperatorKind, name: string, inputs: readonly ValueId[], attributes = {}): ValueId {
    const { shape, type } = this.#writer.get(inputs[0]!)
    const value = this.#writer.value(this.#writer.freeName(name), shape, type === 'statistic' ? { type } : {})
    this.#writer.operator(kind, name, inputs, [value], attributes)
    return value
  }
}
