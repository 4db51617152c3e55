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
  /** Vectors that lie in the second tier: their bytes, and those that the update fetches, and stores again. */
  readonly vectors?: { readonly bytes: number; readonly updated: number } | undefined
}

/** Of a Program that was compiled within a limit. */
export function restorationOf({ segments, values }: Program, { speed, transfers, updateBytes, vectors }: RestorationSpeed): Restoration {
  const channel = new TransferChannel(transfers)
  const bytesOf = (id: ValueId): number => values[id]!.bytes
  const sizeOf = (ids: readonly ValueId[]): number => present(ids).reduce((sum, id) => sum + bytesOf(id), 0)
  const updating = vectors && transfers ? roundTrip(vectors.updated, transfers) : 0
  let [whole, time, recomputedBytes, movedBytes] = [0, 0, 0, vectors?.bytes ?? 0]
  for (const operator of inOrder(segments)) {
    const { kind, inputs, outputs, flops, repeats } = operator
    if (isTransfer(kind)) {
      time = channel.after({ kind, inputs, outputs }, time, bytesOf)
      if (kind === 'store' && values[outputs[0]!]!.placement.arena === 'staged') movedBytes += sizeOf(outputs)
      continue
    }
    const { seconds } = operatorCost({ flops, bytes: kind === 'update' ? updateBytes : operatorBytes(operator, values) }, speed)
    // The vectors come through windows beside the pass.
    time += kind === 'update' ? Math.max(seconds, updating) : seconds
    if (repeats) recomputedBytes += sizeOf(outputs)
    else whole += seconds
  }
  return { recomputedBytes, movedBytes, predictedSlowdown: whole > 0 ? time / whole : 1 }
}

/** Seconds for bytes that are fetched, and as many that are stored. */
function roundTrip(bytes: number, { storeBytesPerSecond, fetchBytesPerSecond, bothWays }: TransferSpeed): number {
  const [store, fetch] = [bytes / storeBytesPerSecond, bytes / fetchBytesPerSecond]
  return bothWays ? Math.max(store, fetch) : store + fetch
}
