import type { ValueId } from '../model/graph.js'
import type { LoweredStepOperator } from './lower.js'
import { present } from './step.js'

interface LivingValue {
  readonly id: ValueId
  readonly bytes: number
  readonly from: number
  readonly until: number
  /** It has a name: nothing may overwrite it. */
  readonly kept: boolean
}

/** Values that lie in the same memory, one after another or as one. */
export interface Group {
  members: ValueId[]
  bytes: number
  from: number
  until: number
  kept: boolean
}

/** Finds values that can share their memory: a reshaped value is the same bytes, and some operators may overwrite what they read. */
export class MemorySharing {
  readonly #groups = new Map<ValueId, Group>()

  constructor(values: readonly LivingValue[]) {
    for (const { id, ...life } of values) this.#groups.set(id, { members: [id], ...life })
  }

  /** Operators must come in the order in which they run; this is number `at`. */
  visit(operator: LoweredStepOperator, at: number): void {
    if (operator.kind === 'reshape') {
      const [x, y] = [this.#groups.get(operator.inputs[0]!), this.#groups.get(operator.outputs[0]!)]
      if (x && y) this.#join(x, y)
      return
    }
    for (const [output, input] of operator.inPlace) {
      const y = this.#groups.get(operator.outputs[output]!)
      const x = this.#groups.get(operator.inputs[input]!)
      if (x && y && this.#mayOverwrite(x, y, operator, at)) this.#join(x, y)
    }
  }

  groups(): readonly Group[] {
    return [...new Set(this.#groups.values())]
  }

  /** Nobody reads x later, by any of its names, and nothing else that this operator touches lies there. */
  #mayOverwrite(x: Group, y: Group, { inputs, outputs }: LoweredStepOperator, at: number): boolean {
    const here = (ids: readonly ValueId[]): number => present(ids).filter((id) => this.#groups.get(id) === x).length
    return x !== y && y.members.length === 1 && !x.kept && x.until === at && y.bytes <= x.bytes && here(inputs) === 1 && here(outputs) === 0
  }

  #join(x: Group, y: Group): void {
    x.members.push(...y.members)
    x.bytes = Math.max(x.bytes, y.bytes)
    x.from = Math.min(x.from, y.from)
    x.until = Math.max(x.until, y.until)
    x.kept ||= y.kept
    for (const id of y.members) this.#groups.set(id, x)
  }
}
