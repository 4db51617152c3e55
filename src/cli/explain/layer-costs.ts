import type { ExplainedOperator, Explanation } from '../../index.js'

export interface Cost {
  readonly flops: number
  readonly bytes: number
  readonly seconds: number
}

/** A layer's operator and its cost in the forward and the backward pass. */
export interface LayerCost {
  readonly name: string
  readonly operator: string
  /** The shape for one sample. */
  readonly output: readonly number[]
  readonly forward: Cost
  readonly backward: Cost
  readonly boundBy: ExplainedOperator['boundBy']
}

/** The costs of a step by layer, in the order of the forward pass; all copies to other layouts are one row. */
export function layerCosts({ operators }: Explanation): readonly LayerCost[] {
  const reorders = operators.filter(({ kind }) => kind === 'reorder')
  const others = operators.filter(({ kind }) => kind !== 'reorder' && kind !== 'reshape' && kind !== 'exchange')
  const backward = new Map<string, ExplainedOperator[]>()
  for (const operator of others.filter(({ segment }) => segment === 'backward')) {
    const layer = operator.name.replace(/\.backward(\.\w+)*$/, '')
    backward.set(layer, [...(backward.get(layer) ?? []), operator])
  }
  const rows = others
    .filter(({ segment }) => segment !== 'backward')
    .map((operator) => {
      const back = backward.get(operator.name) ?? []
      backward.delete(operator.name)
      return layerCost(operator.name, fusedKind(operator), operator.output.slice(1), [operator], back)
    })
  const rest = [...backward].map(([name, back]) => layerCost(name, back[0]!.kind, back[0]!.output.slice(1), [], back))
  const update = rows.findIndex(({ operator }) => operator === 'update')
  const reorderRows = reorders.length === 0 ? [] : [reorderCost(reorders)]
  return update < 0 ? [...rows, ...rest, ...reorderRows] : [...rows.slice(0, update), ...rest, ...reorderRows, ...rows.slice(update)]
}

function reorderCost(reorders: readonly ExplainedOperator[]): LayerCost {
  const [backward, forward] = [true, false].map((is) => reorders.filter(({ segment }) => (segment === 'backward') === is))
  return layerCost(`${reorders.length} reorders`, 'reorder', [], forward!, backward!)
}

function layerCost(
  name: string,
  operator: string,
  output: readonly number[],
  forth: readonly ExplainedOperator[],
  back: readonly ExplainedOperator[]
): LayerCost {
  const both = [...forth, ...back]
  const bound = both.filter(({ boundBy }) => boundBy === 'arithmetic').reduce((sum, { floorSeconds }) => sum + floorSeconds, 0)
  const [forward, backward] = [total(forth), total(back)]
  return {
    name,
    operator,
    output,
    forward,
    backward,
    boundBy: 2 * bound > forward.seconds + backward.seconds ? 'arithmetic' : 'memory'
  }
}

/** The total cost of operators. */
export function total(operators: readonly ExplainedOperator[]): Cost {
  const sum = (figure: (operator: ExplainedOperator) => number) => operators.reduce((all, operator) => all + figure(operator), 0)
  return { flops: sum(({ flops }) => flops), bytes: sum(({ bytes }) => bytes), seconds: sum(({ floorSeconds }) => floorSeconds) }
}

/** The operators that are fused into one: `batchNorm + add + relu`. */
function fusedKind({ kind, attributes, inputs }: ExplainedOperator): string {
  const [x, ...others] = inputs
  // Only the residual is an image too.
  const adds = (kind === 'batchNorm' || kind === 'groupNorm') && others.some((shape) => shape.length === x!.length)
  return [kind, ...(adds ? ['add'] : []), ...(attributes['relu'] === 1 ? ['relu'] : [])].join(' + ')
}
