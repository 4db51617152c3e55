import type { ValueId } from '../../model/graph.js'
import type { Program } from '../program.js'
import { inOrder, present } from '../step.js'
import { isTransfer, operatorBytes, operatorCost, type MachineSpeed } from './cost.js'
import { TransferChannel, type TransferSpeed } from './transfers.js'

/** What it costs a step to restore values instead of holding them. */
export interface Restoration {
  /** Bytes of the values that are computed again. */
  readonly recomputedBytes: number
  /** Bytes of the values that are moved to the second tier. */
  readonly movedBytes: number
  /** The time of a step, for each second that it takes where everything is held. */
  readonly predictedSlowdown: number
}

/** How fast a machine is, and its second tier if it has one. */
export interface RestorationSpeed {
  readonly speed: MachineSpeed
  readonly transfers?: TransferSpeed | undefined
  /** Bytes that the update of a step reads and writes. */
  readonly updateBytes: number
}

/** Of a Program that was compiled within a limit. */
export function restorationOf({ segments, values }: Program, { speed, transfers, updateBytes }: RestorationSpeed): Restoration {
  const channel = new TransferChannel(transfers)
  const bytesOf = (id: ValueId): number => values[id]!.bytes
  const sizeOf = (ids: readonly ValueId[]): number => present(ids).reduce((sum, id) => sum + bytesOf(id), 0)
  let [whole, time, recomputedBytes, movedBytes] = [0, 0, 0, 0]
  for (const operator of inOrder(segments)) {
    const { kind, inputs, outputs, flops, repeats } = operator
    if (isTransfer(kind)) {
      time = channel.after({ kind, inputs, outputs }, time, bytesOf)
      if (kind === 'store') movedBytes += sizeOf(outputs)
      continue
    }
    const { seconds } = operatorCost({ flops, bytes: kind === 'update' ? updateBytes : operatorBytes(operator, values) }, speed)
    time += seconds
    if (repeats) recomputedBytes += sizeOf(outputs)
    else whole += seconds
  }
  return { recomputedBytes, movedBytes, predictedSlowdown: whole > 0 ? time / whole : 1 }
}
