import type { Program } from '../program.js'
import { inOrder, present } from '../step.js'
import { operatorBytes, operatorCost, type MachineSpeed } from './cost.js'

/** What it costs a step to compute values again instead of holding them. */
export interface Recomputation {
  /** Bytes of the values that are computed again. */
  readonly recomputedBytes: number
  /** The time of a step, for each second that it takes where everything is held. */
  readonly predictedSlowdown: number
}

/** Of a Program that was compiled within a limit. `updateBytes`: what its update reads and writes. */
export function recomputationOf({ segments, values }: Program, speed: MachineSpeed, updateBytes: number): Recomputation {
  let [once, again, recomputedBytes] = [0, 0, 0]
  for (const operator of inOrder(segments)) {
    const bytes = operator.kind === 'update' ? updateBytes : operatorBytes(operator, values)
    const { seconds } = operatorCost({ flops: operator.flops, bytes }, speed)
    if (operator.repeats) {
      again += seconds
      recomputedBytes += present(operator.outputs).reduce((sum, id) => sum + values[id]!.bytes, 0)
    } else once += seconds
  }
  return { recomputedBytes, predictedSlowdown: once > 0 ? (once + again) / once : 1 }
}
