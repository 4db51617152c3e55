import { ArbalestError } from '../errors.js'
import { NONE, sameShape, type Value, type ValueId } from '../model/graph.js'
import type { GraphWriter } from '../model/graph-writer.js'
import { BYTES, parameterType, typeOf } from './element-types.js'
import {
  PLAIN,
  type AnsweredTensor,
  type ElementType,
  type Layout,
  type OfferedTensor,
  type ParameterLayout,
  type Precision
} from './program.js'
import type { Step } from './step.js'

/** Ends the name of a gradient, after that of its value. */
const GRADIENT = '.gradient'

/** How a value lies in memory. */
export interface Form {
  readonly type: ElementType
  readonly layout: Layout
}

interface FormsOptions {
  readonly precision: Precision
  /** As LoweringBackend says it. */
  readonly layoutsOfAnyType?: boolean | undefined
  /** What `wantedByGradients` was after an attempt without it. */
  readonly wantedByGradients?: ReadonlyMap<string, Layout> | undefined
}

/** How the values of a step lie, as far as that is decided. */
export class Forms {
  readonly #values: GraphWriter
  readonly #precision: Precision
  readonly #layoutsOfAnyType: boolean
  readonly #decided = new Map<ValueId, Form>()
  readonly #parameters: ReadonlyMap<string, ValueId>
  readonly #wantedBefore: ReadonlyMap<string, Layout>
  /** Parameters of which readers want copies in another type, and which lie canonical for want of a better layout. */
  readonly #copied = new Set<ValueId>()
  readonly #wanted = new Map<string, Layout>()

  /** `fixed`: how the parameters lie already. Throws INVALID_PROGRAM where they are those of another model. */
  constructor(
    { name, values }: Step,
    writer: GraphWriter,
    { precision, layoutsOfAnyType = false, wantedByGradients = new Map() }: FormsOptions,
    fixed?: ParameterLayout
  ) {
    this.#values = writer
    this.#precision = precision
    this.#layoutsOfAnyType = layoutsOfAnyType
    this.#wantedBefore = wantedByGradients
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
    const parameter = this.#parameters.get(withoutGradient(name))
    return parameter === undefined ? undefined : this.final(this.#values.get(parameter))
  }

  /** The layout of the value of which this is the gradient; undefined where it is none, or nothing is decided. A layer may be called so, too: then it has another shape. */
  layoutOfGradient(id: ValueId): Layout | undefined {
    const { name, shape } = this.#values.get(id)
    const value = name.endsWith(GRADIENT) ? this.#values.find(withoutGradient(name)) : undefined
    return value && sameShape(value.shape, shape) ? this.#decided.get(value.id)?.layout : undefined
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

  /** How it lies; the first reader's wish decides. Parameters stay masters in their own type. */
  decide(id: ValueId, wanted: Form): Form {
    const decided = this.get(id)
    if (decided) return decided
    const form = this.#isCopied(id, wanted) ? { type: parameterType(this.#precision), layout: this.#masterLayout(id, wanted) } : wanted
    this.set(id, form)
    return form
  }

  #isCopied(id: ValueId, wanted: Form): boolean {
    return this.#values.get(id).role === 'parameter' && wanted.type !== parameterType(this.#precision)
  }

  /** Of a parameter whose readers want copies. Every step writes the copies anew, whatever the layout of the parameter is. */
  #masterLayout(id: ValueId, wanted: Form): Layout {
    if (this.#layoutsOfAnyType) return wanted.layout
    const layout = this.#wantedBefore.get(this.#values.get(id).name)
    if (layout === undefined) this.#copied.add(id)
    return layout ?? PLAIN
  }

  /** The operator writes this value so. A layout that pads is not wanted of a parameter: it would be longer. */
  noteWritten(id: ValueId, { layout, type, bytes }: AnsweredTensor): void {
    const { role, name, shape } = this.#values.get(id)
    if (role !== 'parameterGradient') return
    const parameter = this.#parameters.get(withoutGradient(name))
    if (parameter === undefined || !this.#copied.has(parameter) || type !== parameterType(this.#precision)) return
    if (bytes === shape.reduce((product, extent) => product * extent, BYTES[type])) this.#wanted.set(withoutGradient(name), layout)
  }

  /** The layouts in which gradients are written of parameters that are copied, by the parameters' names. */
  get wantedByGradients(): ReadonlyMap<string, Layout> {
    return this.#wanted
  }

  #fix(step: string, ours: readonly Value[], layout: ParameterLayout): void {
    const parameters = layout.parameters.toSorted((a, b) => a.canonical - b.canonical)
    const match = ours.length === parameters.length && ours.every(({ name, shape }, i) => agrees({ name, shape }, parameters[i]!))
    if (!match)
      throw new ArbalestError(
        'INVALID_PROGRAM',
        `parameters: received a layout of ${parameters.length} that are not the ${ours.length} of ${step}; pass that of a program of the same model`
      )
    for (const [i, { id }] of ours.entries()) this.set(id, parameters[i]!)
  }
}

/** The name of what this is the gradient of. */
function withoutGradient(name: string): string {
  return name.slice(0, -GRADIENT.length)
}

export function same(a: Form, b: Form): boolean {
  return a.type === b.type && a.layout === b.layout
}

function agrees(a: { name: string; shape: readonly number[] }, b: { name: string; shape: readonly number[] }): boolean {
  return a.name === b.name && a.shape.length === b.shape.length && a.shape.every((extent, axis) => extent === b.shape[axis])
}
