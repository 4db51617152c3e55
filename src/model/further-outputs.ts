import { NONE, type Attributes, type OperatorKind, type Value, type ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'

/** An operator with one result. */
export interface NewOperator {
  readonly kind: OperatorKind
  /** Of the operator and of its result. */
  readonly name: string
  readonly inputs: readonly ValueId[]
  /** The result's, batch first. */
  readonly shape: readonly number[]
  readonly attributes: Attributes
}

interface FurtherOutput {
  readonly suffix: string
  readonly shape: readonly number[]
  readonly type: Value['type']
}

/** What operators give beside their result, for their gradients alone; `x` is the first input's shape. */
const FURTHER: Partial<Record<OperatorKind, (x: readonly number[], operator: NewOperator) => readonly FurtherOutput[]>> = {
  maxPool2d: (_, { shape }) => [{ suffix: 'position', shape, type: 'position' }],
  layerNorm: (x) => ['mean', 'inverse'].map((suffix) => ({ suffix, shape: x.slice(0, -1), type: 'statistic' })),
  causalSelfAttention: ([batch, length], { attributes }) => [
    { suffix: 'logSum', shape: [batch!, Number(attributes['heads']), length!], type: 'statistic' }
  ]
}

/** Adds an operator, with what its gradient reads beside the result where there will be one; returns the result. */
export function addOperator(writer: GraphWriter, operator: NewOperator, differentiated: boolean): ValueId {
  const { kind, name, inputs, shape, attributes } = operator
  const y = writer.value(name, shape)
  const further = FURTHER[kind]?.(writer.get(inputs[0]!).shape, operator) ?? []
  const others = further.map(({ suffix, shape: extents, type }) =>
    differentiated ? writer.value(`${name}.${suffix}`, extents, { type }) : NONE
  )
  writer.operator(kind, name, inputs, [y, ...others], attributes)
  return y
}
