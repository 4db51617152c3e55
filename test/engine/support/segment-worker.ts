import { parentPort, workerData } from 'node:worker_threads'
import type { SegmentName } from '../../../src/compiler/program.js'
import type { Handle } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'

/** A segment that is run in a thread of its own, which posts the outcome. */
export interface SegmentWorker {
  readonly replica: Handle
  readonly slot: number
  readonly segment: SegmentName
  readonly milliseconds: number
}

const { replica, slot, segment, milliseconds } = workerData as SegmentWorker
parentPort!.postMessage(engine.runSegment(replica, slot, segment, { milliseconds }))
