import type { Comparison } from '../pairs.js'

/** One line of `--json`: a case beside one peer. */
export interface HubResult extends Comparison {
  readonly bench: 'hub'
  /** `hub h4 link4x`, `tall k2`, `racks 2x2 cross1/4`, `cost-model`. */
  readonly case: string
  /** `sharded`, `allreduce`, `allreduce-best`, `gloo`, `mxnet`, `ddp-gloo`, `solo`, `calm`, `wide`, `flat`, `bound`, `measured`. */
  readonly peer: string
  readonly unit: string
  /** How the peer was run. */
  readonly peerMode?: string
  /** Processes that wanted to run, on average over a minute, at the end. */
  readonly load: number
  readonly [figure: string]: unknown
}
