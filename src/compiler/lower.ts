import { ArbalestError } from '../errors.js'
import { NONE, type Operator, type Value, type ValueId } from '../model/graph.js'
import { GraphWriter } from '../model/graph-writer.js'
import { Forms, same, type Form } from './forms.js'
import {
  PLAIN,
  type AnsweredTensor,
  type Layout,
  type LoweringAnswer,
  type LoweringBackend,
  type OfferedTensor,
  type ParameterLayout,
  type Precision,
  type SegmentName
} from './program.js'
import type { Pieces } from '../turns.js'
import type { Step } from './step.js'

/** An operator as the backend will run it, before it has a place. */
export interface LoweredStepOperator extends Operator {
  readonly scratchBytes: number
  /** Pairs (output, input) by position: the output may lie where the input lay. */
  readonly inPlace: LoweringAnswer['inPlace']
  readonly implementation: string
  /** As LoweringAnswer has it. */
  readonly partialSums?: number
  /** It computes again what an operator before it has computed. */
  readonly repeats?: true
}

export interface LoweredStep {
  readonly name: string
  readonly batch: number
  readonly values: readonly (Value & { readonly form: Form; readonly staged?: true })[]
  readonly segments: Readonly<Record<SegmentName, readonly LoweredStepOperator[]>>
  readonly named: Step['named']
}

/**
 * Asks the backend how it runs each operator and inserts the reorders that follow.
 *
 * A value lies as its writer gives it. Where a reader wants it otherwise a `reorder` comes just before that reader, once for all later
 * readers that want the same; where the backend reorders together, those of parameters come first, as one, and those of their gradients last.
 * Three kinds of values lie as their first reader wants them: parameters, unless `parameters` has fixed them; samples that `load` writes, in whatever
 * layout it is asked for; and samples that the caller writes. A parameter's gradient gets the layout of its parameter. A parameter whose readers
 * want copies of another type lies as its gradient is written.
 */
export function* lower(step: Step, backend: LoweringBackend, precision: Precision, parameters?: ParameterLayout): Pieces<LoweredStep> {
  const lowering = yield* lowered(new Lowering(step, backend, precision, { parameters }), step)
  const wanted = lowering.wantedByGradients
  if (wanted.size === 0) return lowering.finish()
  return (yield* lowered(new Lowering(step, backend, precision, { wantedByGradients: wanted }), step)).finish()
}

function* lowered(lowering: Lowering, step: Step): Pieces<Lowering> {
  yield
  // `load` comes last: what it writes lies as its readers want.
  for (const segment of ['forward', 'backward', 'exchange', 'update', 'load'] as const)
    for (const operator of step.segments[segment]) {
      lowering.lower(operator, segment)
      yield
    }
  yield
  return lowering
}

interface LoweringOptions {
  readonly parameters?: ParameterLayout | undefined
  /** Layouts of parameters whose readers want copies of another type, by their names. */
  readonly wantedByGradients?: ReadonlyMap<string, Layout>
}

class Lowering {
  readonly #step: Step
  readonly #backend: LoweringBackend
  readonly #precision: Precision
  readonly #writer: GraphWriter
  readonly #forms: Forms
  /** Reorders made, by what was reordered and to what. */
  readonly #reordered = new Map<string, ValueId>()
  readonly #segments: Record<SegmentName, LoweredStepOperator[]> = { load: [], forward: [], backward: [], exchange: [], update: [] }

  constructor(step: Step, backend: LoweringBackend, precision: Precision, { parameters, wantedByGradients }: LoweringOptions) {
    this.#step = step
    this.#backend = backend
    this.#precision = precision
    this.#writer = new GraphWriter({ name: step.name, batch: step.batch, values: step.values, operators: [], named: step.named })
    this.#forms = new Forms(step, this.#writer, { precision, layoutsOfAnyType: backend.layoutsOfAnyType, wantedByGradients }, parameters)
  }

  lower(operator: Operator, segment: SegmentName): void {
    // The replica itself runs these two: they concern the whole parameter vector.
    if (operator.kind === 'exchange' || operator.kind === 'update') {
      this.#segments[segment].push({ ...operator, scratchBytes: 0, inPlace: [], implementation: 'replica' })
      return
    }
    if (operator.kind === 'reshape') {
      this.#reshape(operator, segment)
      return
    }
    const answer = this.#ask(
      operator,
      operator.inputs.map((id) => this.#forms.offered(id)),
      operator.outputs.map((id) => this.#forms.offered(id))
    )
    const inputs = operator.inputs.map((id, i) => this.#asWanted(id, this.#answered(operator, answer.inputs[i], id), segment))
    const after: (() => void)[] = []
    const outputs = operator.outputs.map((id, i) => {
      const given = this.#answered(operator, answer.outputs[i], id)
      const wanted = id === NONE ? undefined : this.#forms.get(id)
      if (id === NONE || !given) return NONE
      if (!wanted || same(given, wanted)) {
        this.#forms.set(id, given)
        return id
      }
      const written = this.#newValue(id, given)
      this.#forms.noteWritten(id, answer.outputs[i]!)
      after.push(() => this.#reorder(written, id, segment))
      return written
    })
    this.#push(segment, { ...operator, inputs, outputs }, answer)
    for (const reorder of after) reorder()
  }

  /** Empty once they are followed. */
  get wantedByGradients(): ReadonlyMap<string, Layout> {
    return this.#forms.wantedByGradients
  }

  finish(): LoweredStep {
    if (this.#backend.reordersTogether) this.#gatherReorders()
    const { name, batch, named } = this.#step
    const { values } = this.#writer.graph(name, batch, named)
    return { name, batch, values: values.map((value) => ({ ...value, form: this.#forms.final(value) })), segments: this.#segments, named }
  }

  /**
   * Parameters do not change before the update: those that are read otherwise than they lie may all be reordered first. Their gradients are not
   * read before the exchange, and those that are written otherwise than they shall lie may all be reordered last.
   */
  #gatherReorders(): void {
    const role = (id: ValueId): Value['role'] => this.#writer.get(id).role
    const ofParameters = this.#takenReorders(['forward', 'backward'], ({ inputs }) => role(inputs[0]!) === 'parameter')
    if (ofParameters.length > 0) this.#segments.forward.unshift(this.#together('parameters.reorder', ofParameters))
    const read = new Set(this.#segments.backward.flatMap(({ inputs }) => inputs))
    const ofGradients = this.#takenReorders(
      ['backward'],
      ({ outputs }) => role(outputs[0]!) === 'parameterGradient' && !read.has(outputs[0]!)
    )
    if (ofGradients.length > 0) this.#segments.backward.push(this.#together('gradients.reorder', ofGradients))
  }

  #takenReorders(segments: readonly SegmentName[], wanted: (reorder: Operator) => boolean): readonly Operator[] {
    const isTaken = (operator: Operator): boolean => operator.kind === 'reorder' && wanted(operator)
    return segments.flatMap((segment) => {
      const taken = this.#segments[segment].filter(isTaken)
      this.#segments[segment] = this.#segments[segment].filter((operator) => !isTaken(operator))
      return taken
    })
  }

  #together(name: string, reorders: readonly Operator[]): LoweredStepOperator {
    const together: Operator = {
      kind: 'reorder',
      name,
      inputs: reorders.flatMap(({ inputs }) => inputs),
      outputs: reorders.flatMap(({ outputs }) => outputs),
      attributes: {}
    }
    const { scratchBytes, inPlace, implementation } = this.#ask(
      together,
      together.inputs.map((id) => this.#forms.offered(id)),
      together.outputs.map((id) => this.#forms.offered(id))
    )
    return { ...together, scratchBytes, inPlace, implementation }
  }

  /** The same elements in canonical order: input and output plain and of one type, so that they can share their memory. */
  #reshape(operator: Operator, segment: SegmentName): void {
    const [x, y] = [operator.inputs[0]!, operator.outputs[0]!]
    const { type } = this.#answered(operator, this.#ask(operator, [this.#forms.offered(x)], [this.#forms.offered(y)]).inputs[0], x)!
    const input = this.#asWanted(x, { type, layout: PLAIN }, segment)
    const written = this.#forms.get(input)!
    // Some operators, as the gradient of average pooling, see no other image than this gradient: in canonical order they would work on single pixels.
    const wanted = this.#forms.get(y) ?? { ...written, layout: this.#forms.layoutOfGradient(y) ?? PLAIN }
    this.#forms.set(y, wanted)
    const direct = same(written, wanted)
    const output = direct ? y : this.#newValue(y, written)
    const answer = this.#ask(operator, [this.#forms.offered(input)], [this.#forms.offered(output)])
    this.#push(segment, { ...operator, inputs: [input], outputs: [output] }, answer)
    if (!direct) this.#reorder(output, y, segment)
  }

  #ask(operator: Operator, inputs: readonly (OfferedTensor | null)[], outputs: readonly (OfferedTensor | null)[]): LoweringAnswer {
    const { kind, attributes } = operator
    const precision = attributes['wide'] && this.#precision === 'bf16' ? 'f32' : this.#precision
    return this.#backend.lower({ kind, attributes, inputs, outputs, precision })
  }

  /** The backend's word on one tensor; it must have one where there is a tensor. */
  #answered(operator: Operator, tensor: AnsweredTensor | null | undefined, id: ValueId): AnsweredTensor | null {
    if (id === NONE) return null
    if (tensor) return tensor
    throw new ArbalestError(
      'INTERNAL',
      `backend ${this.#backend.name}: no answer for ${this.#writer.get(id).name} of operator ${operator.kind} (${operator.name}); report this`
    )
  }

  /** The value that a reader gets: this one where it lies as wanted or may yet, else a reordered copy. */
  #asWanted(id: ValueId, wanted: Form | null, segment: SegmentName): ValueId {
    if (id === NONE || !wanted) return NONE
    if (same(this.#forms.decide(id, wanted), wanted)) return id
    const key = `${id} ${wanted.type} ${wanted.layout}`
    const made = this.#reordered.get(key)
    if (made !== undefined) return made
    const copy = this.#newValue(id, wanted)
    this.#reorder(id, copy, segment)
    this.#reordered.set(key, copy)
    return copy
  }

  #newValue(like: ValueId, form: Form): ValueId {
    const { name, shape, type } = this.#writer.get(like)
    const id = this.#writer.value(this.#writer.freeName(`${name}.${form.type}.${form.layout}`), shape, { type })
    this.#forms.set(id, form)
    return id
  }

  #reorder(from: ValueId, to: ValueId, segment: SegmentName): void {
    const target = this.#forms.get(to)!
    this.#forms.set(to, target)
    const operator: Operator = {
      kind: 'reorder',
      name: `${this.#writer.get(from).name}.reorder`,
      inputs: [from],
      outputs: [to],
      attributes: {}
    }
    const answer = this.#ask(operator, [this.#forms.offered(from)], [this.#forms.offered(to)])
    this.#push(segment, operator, answer)
  }

  #push(segment: SegmentName, operator: Operator, { scratchBytes, inPlace, implementation, partialSums }: LoweringAnswer): void {
    this.#segments[segment].push({ ...operator, scratchBytes, inPlace, implementation, ...(partialSums && { partialSums }) })
  }
}
