import type { ValueId } from '../../model/graph.js'
import type { LoweredStep, LoweredStepOperator } from '../lower.js'
import { transfer } from './transfers.js'

/** Operators that read a parameter at most so many places apart share one copy of it. */
const NEAR = 3

/** So many parameters are fetched ahead of the one that is read. */
const AHEAD = 2

/** So many gradients may be under way to the second tier. */
const BEHIND = 2

/**
 * The step for parameters and gradients that lie in the second tier: a parameter is fetched ahead of the operators that read it, once for those that are near
 * each other, and a gradient is stored when its last writer or reader has run. What operators are, and their order, stays the same.
 */
export function withMovedVectors(step: LoweredStep): LoweredStep {
  return new MovingStep(step).moved()
}

/** Operators that share the copy of a parameter, by their first and last. */
interface Reading {
  readonly copy: ValueId
  readonly parameter: ValueId
  readonly first: number
  last: number
}

class MovingStep {
  readonly #step: LoweredStep
  readonly #operators: readonly (readonly ['forward' | 'backward', LoweredStepOperator])[]
  readonly #values: LoweredStep['values'][number][]
  readonly #names: Set<string>
  /** What stands before each operator, and after the last. */
  readonly #before = new Map<number, LoweredStepOperator[]>()

  constructor(step: LoweredStep) {
    this.#step = step
    this.#operators = (['forward', 'backward'] as const).flatMap((segment) =>
      step.segments[segment].map((operator) => [segment, operator] as const)
    )
    this.#values = [...step.values]
    this.#names = new Set(step.values.map(({ name }) => name))
  }

  moved(): LoweredStep {
    const readings = this.#readings()
    const gradients = this.#gradients()
    // In the order in which they are waited for, before others begin.
    this.#store(gradients)
    this.#fetch([...readings.values()].flat().sort((a, b) => a.first - b.first))
    const copyOf = (id: ValueId, at: number): ValueId =>
      gradients.get(id)?.copy ?? readings.get(id)?.find(({ first, last }) => at >= first && at <= last)?.copy ?? id
    const segments: Record<'forward' | 'backward', LoweredStepOperator[]> = { forward: [], backward: [] }
    for (const [at, [segment, operator]] of this.#operators.entries()) {
      segments[segment].push(...(this.#before.get(at) ?? []))
      segments[segment].push({
        ...operator,
        inputs: operator.inputs.map((id) => copyOf(id, at)),
        outputs: operator.outputs.map((id) => copyOf(id, at))
      })
    }
    segments.backward.push(...(this.#before.get(this.#operators.length) ?? []))
    return { ...this.#step, values: this.#values, segments: { ...this.#step.segments, ...segments } }
  }

  /** Of each parameter. */
  #readings(): Map<ValueId, Reading[]> {
    const readings = new Map<ValueId, Reading[]>()
    for (const [at, [, { inputs }]] of this.#operators.entries())
      for (const id of inputs) {
        if (id < 0 || this.#values[id]!.role !== 'parameter') continue
        const known = readings.get(id) ?? []
        const latest = known.at(-1)
        if (latest && at - latest.last <= NEAR) latest.last = at
        else readings.set(id, [...known, { copy: this.#copy(id, 'fetched'), parameter: id, first: at, last: at }])
      }
    return readings
  }

  /** Each gradient with what holds it on the device, and the last operator that uses it. */
  #gradients(): Map<ValueId, { readonly copy: ValueId; last: number }> {
    const gradients = new Map<ValueId, { readonly copy: ValueId; last: number }>()
    for (const [at, [, { inputs, outputs }]] of this.#operators.entries())
      for (const id of [...inputs, ...outputs]) {
        if (id < 0 || this.#values[id]!.role !== 'parameterGradient') continue
        const known = gradients.get(id)
        if (known) known.last = at
        else gradients.set(id, { copy: this.#copy(id, 'held'), last: at })
      }
    return gradients
  }

  #fetch(readings: readonly Reading[]): void {
    for (const [i, { copy, parameter }] of readings.entries()) {
      const from = i < AHEAD ? 0 : readings[i - AHEAD]!.first
      this.#put(from, this.#transfer('fetch', parameter, [parameter], [copy]))
    }
    for (const { copy, parameter, first } of readings) this.#put(first, this.#transfer('settle', parameter, [parameter, copy], []))
  }

  #store(gradients: ReadonlyMap<ValueId, { readonly copy: ValueId; readonly last: number }>): void {
    const inOrder = [...gradients].sort(([, a], [, b]) => a.last - b.last)
    const settle = (at: number, id: ValueId, copy: ValueId): void => this.#put(at, this.#transfer('settle', id, [copy, id], []))
    for (const [i, [id, { copy, last }]] of inOrder.entries()) {
      if (i >= BEHIND) settle(last + 1, inOrder[i - BEHIND]![0], inOrder[i - BEHIND]![1].copy)
      this.#put(last + 1, this.#transfer('store', id, [copy], [id]))
    }
    for (const [id, { copy }] of inOrder.slice(-BEHIND)) settle(this.#operators.length, id, copy)
  }

  #put(at: number, operator: LoweredStepOperator): void {
    const there = this.#before.get(at)
    if (there) there.push(operator)
    else this.#before.set(at, [operator])
  }

  #transfer(kind: 'store' | 'fetch' | 'settle', of: ValueId, inputs: readonly ValueId[], outputs: readonly ValueId[]): LoweredStepOperator {
    return { ...transfer(kind, inputs, outputs), name: this.#step.values[of]!.name }
  }

  /** A value of its own for what lies on the device. */
  #copy(id: ValueId, how: string): ValueId {
    const { shape, type, form, name } = this.#step.values[id]!
    let free = `${name}.${how}`
    for (let i = 2; this.#names.has(free); i++) free = `${name}.${how}.${i}`
    this.#names.add(free)
    return this.#values.push({ id: this.#values.length, name: free, role: 'activation', shape, type, form }) - 1
  }
}
