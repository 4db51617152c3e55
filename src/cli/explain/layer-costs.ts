import type { ExplainedOperator, Explanation } from '../../index.js'

export interface Cost {
  readonly flops: number
  readonly bytes: number
  readonly seconds: number
}

/** A layer's operator with what it costs forwards and backwards. */
export interface LayerCost {
  readonly name: string
  readonly operator: string
  /** One sample's. */
  readonly output: readonly number[]
  readonly forward: Cost
  readonly backward: Cost
  readonly boundBy: ExplainedOperator['boundBy']
}

/** The operators of a step by layers, in the order of the forward pass; copies in other layouts in one row. */
export function layerCosts({ operators }: Explanation): readonly LayerCost[] {
  const moved = operators.filter(({ kind }) => kind === 'reorder')
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
      return layerCost(operator.name, worded(operator), operator.output.slice(1), [operator], back)
    })
  const rest = [...backward].map(([name, back]) => layerCost(name, back[0]!.kind, back[0]!.output.slice(1), [], back))
  const update = rows.findIndex(({ operator }) => operator === 'update')
  const reorders = moved.length === 0 ? [] : [reorderCost(moved)]
  return update < 0 ? [...rows, ...rest, ...reorders] : [...rows.slice(0, update), ...rest, ...reorders, ...rows.slice(update)]
}

function reorderCost(moved: readonly ExplainedOperator[]): LayerCost {
  const [back, forth] = [true, false].map((is) => moved.filter(({ segment }) => (segment === 'backward') === is))
  return layerCost(`${moved.length} reorders`, 'reorder', [], forth!, back!)
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

/** Of a few operators. */
export function total(operators: readonly ExplainedOperator[]): Cost {
  const sum = (figure: (operator: ExplainedOperator) => number) => operators.reduce((all, operator) => all + figure(operator), 0)
  return { flops: sum(({ flops }) => flops), bytes: sum(({ bytes }) => bytes), seconds: sum(({ floorSeconds }) => floorSeconds) }
}

/** What runs as one: `batchNorm + add + relu`. */
function worded({ kind, attributes, inputs }: ExplainedOperator): string {
  const adds = kind === 'batchNorm' && inputs.length > 3
  return [kind, ...(adds ? ['add'] : []), ...(attributes['relu'] === 1 ? ['relu'] : [])].join(' + ')
}
