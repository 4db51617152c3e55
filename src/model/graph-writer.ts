import { ArbalestError } from '../errors.js'
import {
  elements,
  type Attributes,
  type Graph,
  type Initialiser,
  type Operator,
  type OperatorKind,
  type Role,
  type Value,
  type ValueId
} from './graph.js'
import { invalidLayer } from './layer-checks.js'

/** Of more, 64 bits no longer count the bytes. */
const MOST_ELEMENTS = 2 ** 60

/** Grows a Graph, from nothing or from a graph that is there; value names stay unique. */
export class GraphWriter {
  readonly #values: Value[]
  readonly #operators: Operator[]
  readonly #names: Map<string, ValueId>
  /** Names that were taken, and the first number that may not be. */
  readonly #taken = new Map<string, number>()

  constructor(graph?: Graph) {
    this.#values = [...(graph?.values ?? [])]
    this.#operators = [...(graph?.operators ?? [])]
    this.#names = new Map(this.#values.map(({ name, id }) => [name, id]))
  }

  /** A new value. Throws INVALID_MODEL where its name is taken. */
  value(
    name: string,
    shape: readonly number[],
    { role = 'activation', type = 'float', initialiser }: { role?: Role; type?: Value['type']; initialiser?: Initialiser } = {}
  ): ValueId {
    if (this.#names.has(name))
      throw new ArbalestError('INVALID_MODEL', `name: received ${name} twice; give each layer a name of its own`, { data: { name } })
    if (elements(shape) > MOST_ELEMENTS) throw invalidLayer(name, 'shape', shape, 'use less padding, or fewer features')
    const id = this.#values.length
    this.#names.set(name, id)
    this.#values.push({ id, name, shape, role, type, ...(initialiser && { initialiser }) })
    return id
  }

  /** How many values there are: the id of the next. */
  get size(): number {
    return this.#values.length
  }

  /** How many operators there are. */
  get operatorCount(): number {
    return this.#operators.length
  }

  /** Freezes the parameters, from value `from` on, whose name `which` picks; returns how many there are. */
  freeze(from: ValueId, which: (name: string) => boolean = () => true): number {
    const picked = this.#values.slice(from).filter(({ role, name }) => role === 'parameter' && which(name))
    for (const value of picked) this.#values[value.id] = { ...value, frozen: true }
    return picked.length
  }

  /** The first of `name`, `name.2`, `name.3`... that is not taken. */
  freeName(name: string): string {
    let free = name
    let i = this.#taken.get(name) ?? 2
    for (; this.#names.has(free); i++) free = `${name}.${i}`
    // Where the next search begins: a value with a thousand readers has a thousand summands of its gradient.
    if (free !== name) this.#taken.set(name, i)
    return free
  }

  operator(kind: OperatorKind, name: string, inputs: readonly ValueId[], outputs: readonly ValueId[], attributes: Attributes = {}): void {
    this.#operators.push({ kind, name, inputs, outputs, attributes })
  }

  /** Those that were added after the first `count`. */
  operatorsAfter(count: number): readonly Operator[] {
    return this.#operators.slice(count)
  }

  find(name: string): Value | undefined {
    const id = this.#names.get(name)
    return id === undefined ? undefined : this.#values[id]
  }

  get(id: ValueId): Value {
    return this.#values[id]!
  }

  graph(name: string, batch: number, named: Graph['named']): Graph {
    return { name, batch, values: this.#values, operators: this.#operators, named }
  }
}
