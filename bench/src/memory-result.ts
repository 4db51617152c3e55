import type { RateUnit } from './cases.js'
import type { Comparison } from './pairs.js'

export const MEMORY_PEERS = [
  'uncapped',
  'geeps',
  'recompute',
  'move',
  'without-prefetch',
  'pytorch-checkpoint',
  'pytorch-accumulation',
  'pytorch-saved-tensors'
] as const

export type MemoryPeer = (typeof MEMORY_PEERS)[number]

/** Other rules by which the same engine chooses what it does not hold. */
export const RULES = ['geeps', 'recompute', 'move', 'without-prefetch'] as const satisfies readonly MemoryPeer[]

/** One line of `--json`: a run within a limit beside the same run without one. */
export interface MemoryResult extends Comparison {
  readonly bench: 'memory'
  /** The share of the activations' memory that the limit leaves: `resnet50 b32 50%`. */
  readonly case: string
  readonly peer: MemoryPeer
  readonly unit: RateUnit | `${RateUnit} of processor time`
  /** The memory that each of the two takes: as it is counted, or beside PyTorch the most that is resident for the training. */
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

export interface ResidentTold extends Told {
  /** The most that has become resident since the samples were made, less the engine's copy of them. */
  readonly residentBytes: number
}
