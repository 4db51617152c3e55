import { NONE, type Operator, type Value, type ValueId } from '../../model/graph.js'
import { operatorRow } from '../../model/operators/table.js'
import { present } from '../step.js'

/** How fast a machine is: what seconds are predicted from. Data of up to `cacheBytes` may lie in a cache. */
export interface MachineSpeed {
  readonly flopsPerSecond: number
  readonly bytesPerSecond: number
  readonly cacheBytesPerSecond: number
  readonly cacheBytes: number
}

/** What one run of an operator takes at least: as long as its arithmetic alone, and as its reads and writes alone. */
export interface OperatorCost {
  readonly seconds: number
  readonly boundBy: 'arithmetic' | 'memory'
}

export function operatorCost({ flops, bytes }: { readonly flops: number; readonly bytes: number }, speed: MachineSpeed): OperatorCost {
  const arithmetic = flops / speed.flopsPerSecond
  const memory = bytes / (bytes <= speed.cacheBytes ? speed.cacheBytesPerSecond : speed.bytesPerSecond)
  return { seconds: Math.max(arithmetic, memory), boundBy: arithmetic > memory ? 'arithmetic' : 'memory' }
}

/** Floating-point operations of one run. */
export function operatorFlops(
  { kind, inputs, outputs, attributes }: Omit<Operator, 'name'>,
  values: readonly Pick<Value, 'shape'>[]
): number {
  const shape = (id: ValueId) => (id === NONE ? undefined : values[id]!.shape)
  return operatorRow(kind).flops?.({ inputs: inputs.map(shape), outputs: outputs.map(shape), attributes }) ?? 0
}

/** Whether an operator moves a value between the tiers of memory, or waits for one that does. */
export function isTransfer(kind: Operator['kind']): kind is 'store' | 'fetch' | 'settle' {
  return kind === 'store' || kind === 'fetch' || kind === 'settle'
}

/** Bytes of a step's values that one run reads and writes. A reshaped value is the same memory, and transfers run beside other operators. */
export function operatorBytes(
  { kind, inputs, outputs }: Pick<Operator, 'kind' | 'inputs' | 'outputs'>,
  values: readonly { readonly bytes: number }[]
): number {
  return kind === 'reshape' || isTransfer(kind) ? 0 : present([...inputs, ...outputs]).reduce((sum, id) => sum + values[id]!.bytes, 0)
}
