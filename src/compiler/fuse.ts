import { NONE, type Graph, type Operator, type ValueId } from '../model/graph.js'
import { operatorRow } from '../model/operators/table.js'
import { atOnce, type Pieces } from '../turns.js'
import { withoutUnused } from './prune.js'
import { present } from './step.js'

/**
 * Joins operators that run better as one: ReLU into what comes before it, ReLU6 into the batch or group norm before it, and the sum of a residual
 * block into the norm that ends its body. A value that vanishes so has one reader and no name. The forward graph is fused before it is
 * differentiated: gradients follow from the fused operators.
 */
export function fuse(graph: Graph): Graph {
  return atOnce(fuseInPieces(graph))
}

/** The same, a pass over the operators at a time. */
export function* fuseInPieces(graph: Graph): Pieces<Graph> {
  const relus = fuseRelus(graph)
  yield
  const residuals = fuseResiduals(relus)
  yield
  return withoutUnused(residuals)
}

function fuseRelus(graph: Graph): Graph {
  return rewrite(graph, (relu, sole) => {
    const { kind, attributes } = relu
    const bound = kind === 'clamp' && attributes.least === 0 ? { most: attributes.most! } : {}
    if (kind !== 'relu' && !('most' in bound)) return null
    const before = sole(relu.inputs[0]!)
    const row = before && operatorRow(before.kind)
    if (!row || !('most' in bound ? row.endsInBoundedRelu : row.endsInRelu) || endsInRelu(before)) return null
    const outputs = [relu.outputs[0]!, ...before.outputs.slice(1)]
    return { absorbed: before, fused: { ...before, outputs, attributes: { ...before.attributes, relu: 1, ...bound } } }
  })
}

function fuseResiduals(graph: Graph): Graph {
  return rewrite(graph, (add, sole) => {
    if (add.kind !== 'add') return null
    for (const [body, shortcut] of [add.inputs, add.inputs.toReversed()]) {
      const norm = sole(body!)
      const position = norm && operatorRow(norm.kind).residualInput
      if (position === undefined || body === shortcut || endsInRelu(norm!) || norm!.inputs[position] !== NONE) continue
      const inputs = norm!.inputs.with(position, shortcut!)
      const outputs = [add.outputs[0]!, ...norm!.outputs.slice(1)]
      return { absorbed: norm!, fused: { ...norm!, inputs, outputs, attributes: { ...norm!.attributes, relu: add.attributes.relu ?? 0 } } }
    }
    return null
  })
}

/** Whether it ends in a ReLU already; where a composed operator does not say so, it does not. */
function endsInRelu({ attributes }: Operator): boolean {
  return (attributes.relu ?? 0) !== 0
}

interface Fusion {
  /** The operator that vanishes, */
  readonly absorbed: Operator
  /** and what stands in the place of the one that absorbed it: all inputs are there by then. */
  readonly fused: Operator
}

/**
 * Runs once over the operators. `match` may ask for the operator whose first output a value is, given only where that value
 * has one reader and no name.
 */
function rewrite(graph: Graph, match: (operator: Operator, sole: (id: ValueId) => Operator | undefined) => Fusion | null): Graph {
  const named = new Set(Object.values(graph.named))
  const readers = new Map<ValueId, number>()
  for (const id of graph.operators.flatMap(({ inputs }) => present(inputs))) readers.set(id, (readers.get(id) ?? 0) + 1)
  const operators: Operator[] = []
  const writers = new Map<ValueId, Operator>()
  const sole = (id: ValueId): Operator | undefined => (readers.get(id) === 1 && !named.has(id) ? writers.get(id) : undefined)
  for (const operator of graph.operators) {
    const fusion = match(operator, sole)
    // The absorbed operator is near the end: searched from there, a long graph takes no longer for each of its operators.
    const at = fusion ? operators.lastIndexOf(fusion.absorbed) : -1
    // An operator that reads the moments of an absorbed norm would come before it now: such a norm stays as it is.
    const possible =
      fusion &&
      !operators.slice(at + 1).some(({ inputs }) => inputs.some((id) => fusion.absorbed.outputs.slice(1).includes(id) && id !== NONE))
    if (possible) operators.splice(at, 1)
    const kept = possible ? fusion.fused : operator
    operators.push(kept)
    writers.set(kept.outputs[0]!, kept)
  }
  return { ...graph, operators }
}
