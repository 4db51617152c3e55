import { NONE, type Graph, type Operator, type Value, type ValueId } from '../model/graph.js'
import { atOnce, type Pieces } from '../turns.js'
import { present } from './step.js'

/**
 * The graph without what nobody asks for: operators whose outputs reach no named value and no statistic, and values that are then
 * left over. Parameters and statistics all stay, so that every program of a model has the same ones.
 */
export function prune(graph: Graph): Graph {
  return atOnce(pruneInPieces(graph))
}

/** The same in two pieces. */
export function* pruneInPieces(graph: Graph): Pieces<Graph> {
  const wanted = new Set(Object.values(graph.named))
  const operators: Operator[] = []
  for (const operator of graph.operators.toReversed()) {
    if (operator.kind !== 'load' && !present(operator.outputs).some((id) => wanted.has(id))) continue
    for (const id of present(operator.inputs)) wanted.add(id)
    operators.push(operator)
  }
  yield
  return withoutUnused({ ...graph, operators: operators.toReversed() })
}

/** Drops values that no operator, no name and no arena of its own keeps, and numbers the others anew. */
export function withoutUnused(graph: Graph): Graph {
  const used = new Set([...Object.values(graph.named), ...graph.operators.flatMap(({ inputs, outputs }) => [...inputs, ...outputs])])
  const kept = graph.values.filter(({ id, role }) => used.has(id) || role === 'parameter' || role === 'statistic')
  const renumbered = new Map<ValueId, ValueId>([[NONE, NONE], ...kept.map(({ id }, index): [ValueId, ValueId] => [id, index])])
  const now = (id: ValueId): ValueId => renumbered.get(id)!
  return {
    ...graph,
    values: kept.map((value, id): Value => ({ ...value, id })),
    operators: graph.operators.map((operator) => ({ ...operator, inputs: operator.inputs.map(now), outputs: operator.outputs.map(now) })),
    named: Object.fromEntries(Object.entries(graph.named).map(([name, id]) => [name, now(id)]))
  }
}
