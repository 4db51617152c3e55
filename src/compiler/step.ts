import { NONE, type Graph, type Operator, type Value, type ValueId } from '../model/graph.js'
import { SEGMENTS, type SegmentName } from './program.js'

/** A Graph whose operators are dealt out to the segments of a step; each pass of the compiler gives a new one. */
export interface Step {
  readonly name: string
  readonly batch: number
  readonly values: readonly Value[]
  readonly segments: Readonly<Record<SegmentName, readonly Operator[]>>
  readonly named: Graph['named']
}

/** What runs in the graph's order: loading, then the forward pass. */
export function forwardStep({ name, batch, values, operators, named }: Graph): Step {
  const segments = {
    load: operators.filter(({ kind }) => kind === 'load'),
    forward: operators.filter(({ kind }) => kind !== 'load'),
    backward: [],
    exchange: [],
    update: []
  }
  return { name, batch, values, segments, named }
}

/** All operators in the order in which they run. */
export function inOrder<Op>(segments: Readonly<Record<SegmentName, readonly Op[]>>): Op[] {
  return SEGMENTS.flatMap((segment) => segments[segment])
}

/** The values that an operator does have: absent ones left out. */
export function present(ids: readonly ValueId[]): ValueId[] {
  return ids.filter((id) => id !== NONE)
}
