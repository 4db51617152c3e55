import type { ExchangeMode } from '../../hosts/exchange/cluster.js'
import type { Speeds } from './speeds.js'

/** A way to exchange gradients, in milliseconds. */
export interface PredictedMode {
  readonly mode: ExchangeMode
  /** Of the exchange alone. */
  readonly exchangeMilliseconds: number
  /** Of a step of S-SGD: the exchange begins with the first gradients, and ends before the update. */
  readonly stepMilliseconds: number
  /** The share of the exchange that happens while the step computes, 0 to 1. */
  readonly exchangeHidden: number
  /** Of a step of model averaging in every step, which exchanges while the next step computes. */
  readonly averagingStepMilliseconds: number
}

/** What a training step takes on many machines by a model of them: nothing of it is measured but, where it is told, this machine's speeds. */
export interface Prediction extends PredictedMode {
  readonly model: true
  readonly name: string
  readonly hosts: number
  readonly gpus: number
  readonly learners: number
  /** Samples that a learner takes in a step. */
  readonly batch: number
  readonly parameters: number
  /** Bytes of gradients that each host brings. */
  readonly bytes: number
  readonly computeMilliseconds: number
  readonly samplesPerSecond: number
  /** Samples a second over those of as many learners that exchange nothing. */
  readonly efficiency: number
  /** The least batch, a power of two, with which an exchange in every step costs at most 5% of it; null if 4096 is too small. */
  readonly leastBatch: number | null
  /** All modes, the one with the shortest step first. */
  readonly modes: readonly PredictedMode[]
  readonly speeds: Speeds
}
