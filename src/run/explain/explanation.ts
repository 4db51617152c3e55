import type { HeldBytes } from '../../compiler/held-bytes.js'
import type { MemoryUse } from '../../compiler/memory-use.js'
import type { BackendName, Precision, SegmentName } from '../../compiler/program.js'
import type { Attributes } from '../../model/graph.js'
import type { LearnerMemory, SharedMemory } from '../memory/need.js'
import type { Speeds } from './speeds.js'

/** One operator of a training step. */
export interface ExplainedOperator {
  readonly segment: SegmentName
  readonly kind: string
  readonly name: string
  /** The implementation that the backend chose. */
  readonly implementation: string
  readonly attributes: Attributes
  /** Shapes, batch first; `output` is the shape of the first output. */
  readonly inputs: readonly (readonly number[])[]
  readonly output: readonly number[]
  readonly flops: number
  /** Read and written. */
  readonly bytes: number
  readonly floorSeconds: number
  readonly boundBy: 'arithmetic' | 'memory'
}

/** The cost of a training step, known before training. Bytes and seconds are those of one learner, unless said otherwise. */
export interface Explanation extends MemoryUse {
  readonly model: string
  readonly input: readonly number[]
  readonly batch: number
  readonly learners: number
  readonly threads: number
  readonly precision: Precision
  readonly backend: BackendName
  readonly processor: string
  readonly parameters: number
  readonly operators: readonly ExplainedOperator[]
  readonly flops: number
  readonly bytes: number
  /** A lower bound: each operator takes at least as long as its arithmetic alone, and as its reads and writes alone. */
  readonly floorSeconds: number
  readonly speeds: Speeds
  readonly memory: { readonly learner: LearnerMemory; readonly shared: SharedMemory; readonly total: number }
  /** The memory that such a run takes beside its samples without a limit, and the least with which it can train. */
  readonly memoryBytes: number
  readonly floorBytes: number
  /** Bytes of the values that a step computes again. This and the next two are there with `deviceMemory` only. */
  readonly recomputedBytes?: number
  /** Bytes of the values that a step moves to the second tier. */
  readonly movedBytes?: number
  /** The predicted time of a step, as a factor of its time without the limit. */
  readonly predictedSlowdown?: number
  /** What a step holds while each of its operators runs; `within` where a limit changes it. */
  readonly timeline: { readonly held: readonly HeldBytes[]; readonly within?: readonly HeldBytes[] }
}
