import { ClusterTraffic, modesOf, type Cluster, type ExchangeMode } from './cluster.js'
import { FluidNetwork } from './fluid-network.js'
import { ClusterResources, stagesOf, type Machines } from './stages.js'

/** A training step of one learner: when it has what the hosts exchange. */
export interface StepShape {
  /** Seconds of the forward and the backward pass, and of the update after them. */
  readonly computing: number
  readonly updating: number
  /** Gradients that are exchanged together, in the order in which they are ready, in seconds since the beginning of the step. */
  readonly buckets: readonly { readonly bytes: number; readonly ready: number }[]
}

/** What an exchange of gradients in every step costs. */
export interface ExchangePrediction {
  readonly mode: ExchangeMode
  /** Of the exchange alone, of a step, and of a step that averages models while the next one computes. */
  readonly exchangeSeconds: number
  readonly stepSeconds: number
  readonly averagingStepSeconds: number
  /** The share of the exchange that takes no time of its own, 0 to 1: it happens while the step computes. */
  readonly hidden: number
}

/** Buckets that are in one stage at a time. */
const UNDER_WAY = 4

/**
 * All modes that the cluster can have, the one with the shortest step first. A model: nothing is measured. A sum that is alone takes as long as the model says by which
 * runs choose their exchange (cost-model.ts); here several share the links, and wait for backward.
 */
export function predictExchange(
  step: StepShape,
  cluster: Cluster,
  traffic: ClusterTraffic = new ClusterTraffic(cluster)
): readonly ExchangePrediction[] {
  const machines: Machines = { cluster, traffic, resources: new ClusterResources() }
  return modesOf(cluster)
    .map((mode): ExchangePrediction => {
      const alone = exchangeEnd(
        step.buckets.map(({ bytes }) => ({ bytes, ready: 0 })),
        mode,
        machines
      )
      const end = exchangeEnd(step.buckets, mode, machines)
      const exposed = Math.max(0, end - step.computing)
      return {
        mode,
        exchangeSeconds: alone,
        stepSeconds: step.computing + exposed + step.updating,
        averagingStepSeconds: Math.max(step.computing + step.updating, alone),
        hidden: alone === 0 ? 1 : Math.max(0, 1 - exposed / alone)
      }
    })
    .sort((a, b) => a.stepSeconds - b.stepSeconds)
}

/** Seconds until the last bucket is summed. */
function exchangeEnd(buckets: StepShape['buckets'], mode: ExchangeMode, machines: Machines): number {
  const network = new FluidNetwork()
  const inStage: number[] = []
  const waiting: (() => void)[][] = []
  let end = 0
  for (const { bytes, ready } of buckets) {
    const stages = stagesOf(mode, bytes, machines)
    const enter = (at: number): void => {
      const stage = stages[at]
      if (!stage) {
        end = Math.max(end, network.now)
        return
      }
      if ((inStage[at] ?? 0) >= UNDER_WAY) return void (waiting[at] ??= []).push(() => enter(at))
      inStage[at] = (inStage[at] ?? 0) + 1
      network.move(stage.flow, () => {
        network.after(stage.latency, () => enter(at + 1))
        inStage[at]!--
        waiting[at]?.shift()?.()
      })
    }
    network.after(ready, () => enter(0))
  }
  network.run()
  return end
}
