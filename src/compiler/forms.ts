import { ArbalestError } from '../errors.js'
import { NONE, type Value, type ValueId } from '../model/graph.js'
import type { GraphWriter } from '../model/graph-writer.js'
import { parameterType, typeOf } from './element-types.js'
import { PLAIN, type ElementType, type Layout, type OfferedTensor, type ParameterLayout, type Precision } from './program.js'
import type { Step } from './step.js'

/** How a value lies in memory. */
export interface Form {
  readonly type: ElementType
  readonly layout: Layout
}

interface FormsOptions {
  readonly precision: Precision
  /** As LoweringBackend says it. */
  readonly layoutsOfAnyType?: boolean | undefined
}

/** How the values of a step lie, as far as that is decided. */
export class Forms {
  readonly #values: GraphWriter
  readonly #precision: Precision
  readonly #layoutsOfAnyType: boolean
  readonly #decided = new Map<ValueId, Form>()
  readonly #parameters: ReadonlyMap<string, ValueId>

  /** `fixed`: how the parameters lie already. Throws INVALID_PROGRAM where they are those of another model. */
  constructor({ name, values }: Step, writer: GraphWriter, { precision, layoutsOfAnyType = false }: FormsOptions, fixed?: ParameterLayout) {
    this.#values = writer
    this.#precision = precision
    this.#layoutsOfAnyType = layoutsOfAnyType
    const parameters = values.filter(({ role }) => role === 'parameter')
    this.#parameters = new Map(parameters.map((parameter) => [parameter.name, parameter.id]))
    for (const { id, role } of values) if (role === 'statistic') this.set(id, { type: parameterType(precision), layout: PLAIN })
    if (fixed) this.#fix(name, parameters, fixed)
  }

  set(id: ValueId, { type, layout }: Form): void {
    this.#decided.set(id, { type, layout })
  }

  /** Where it is decided. A gradient lies as its parameter does. */
  get(id: ValueId): Form | undefined {
    const { role, name } = this.#values.get(id)
    if (role !== 'parameterGradient') return this.#decided.get(id)
    const parameter = this.#parameters.get(name.slice(0, -'.gradient'.length))
    return parameter === undefined ? undefined : this.final(this.#values.get(parameter))
  }

  /** Values that no operator of this program touches lie plain. */
  final(value: Value): Form {
    return this.#decided.get(value.id) ?? { type: typeOf(value, this.#precision), layout: PLAIN }
  }

  /** What a backend is told of it. */
  offered(id: ValueId): OfferedTensor | null {
    if (id === NONE) return null
    const value = this.#values.get(id)
    const form = this.get(id)
    return { shape: value.shape, type: form?.type ?? typeOf(value, this.#precision), layout: form?.layout ?? null }
  }

  /**
   * How it lies; the first reader's wish decides. Parameters stay masters in their own type, canonical where a reader wants another and its layout is
   * for that type alone.
   */
  decide(id: ValueId, wanted: Form): Form {
    const decided = this.get(id)
    if (decided) return decided
    const value = this.#values.get(id)
    const own = parameterType(this.#precision)
    const form =
      value.role === 'parameter' && wanted.type !== own ? { type: own, layout: this.#layoutsOfAnyType ? wanted.layout : PLAIN } : wanted
    this.set(id, form)
    return form
  }

  #fix(step: string, ours: readonly Value[], { parameters }: ParameterLayout): void {
    const match = ours.length === parameters.length && ours.every(({ name, shape }, i) => agrees({ name, shape }, parameters[i]!))
    if (!match)
      throw new ArbalestError(
        'INVALID_PROGRAM',
        `parameters: received a layout of ${parameters.length} that are not the ${ours.length} of ${step}; pass that of a program of the same model`
      )
    for (const [i, { id }] of ours.entries()) this.set(id, parameters[i]!)
  }
}

export function same(a: Form, b: Form): boolean {
  return a.type === b.type && a.layout === b.layout
}

function agrees(a: { name: string; shape: readonly number[] }, b: { name: string; shape: readonly number[] }): boolean {
  return a.name === b.name && a.shape.length === b.shape.length && a.shape.every((extent, axis) => extent === b.shape[axis])
}
