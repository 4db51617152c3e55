import type { Comparison } from '../pairs.js'

/** One line of `--json`: a case beside one peer. */
export interface Result extends Comparison {
  readonly bench: 'hosts'
  /** `exchange h4 200mbit`, `throughput resnet20 b16 h2`, `tta lenet h4 50mbit sma`. */
  readonly case: string
  /** `bound`, `allreduce`, `allreduce-best`, `one-process`, `ddp-gloo`, `ddp-gloo-fp16`, `periodic-averager`. */
  readonly peer: string
  readonly unit: string
  /** How the peer was run, where there are several ways. */
  readonly peerMode?: string
  /** Processes that wanted to run, on average over a minute, at the end. */
  readonly load: number
  readonly [figure: string]: unknown
}
