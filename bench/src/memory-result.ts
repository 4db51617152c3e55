import type { Comparison } from './pairs.js'

/** One line of `--json`: a run within a limit beside the same run without one. */
export interface MemoryResult extends Comparison {
  readonly bench: 'memory'
  /** The share of the activations' memory that the limit leaves: `resnet50 b32 50%`. */
  readonly case: string
  readonly peer: 'uncapped' | 'pytorch-checkpoint' | 'pytorch-accumulation' | 'pytorch-saved-tensors' | 'geeps'
  readonly unit: 'images/s' | 'images/s of processor time' | 'tokens/s'
  /** The memory that each of the two takes. */
  readonly bytes: number
  readonly peerBytes: number
  readonly recomputedBytes: number
  readonly movedBytes: number
  /** The time of a step within the limit, as a factor: as it was predicted, and as it was measured. */
  readonly predictedSlowdown: number
  readonly slowdown: number
}

/** What a child of ours tells of its run. */
export interface Told {
  readonly bytes: number
  readonly recomputedBytes: number
  readonly movedBytes: number
  readonly predictedSlowdown: number
}
