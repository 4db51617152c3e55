import { ArbalestError } from '../errors.js'
import { tallyOf, type MetricPlan, type MetricTally, type TallyCounts } from '../metrics/metrics.js'
import { labelsThatCount } from '../data/checks.js'
import { loadEngine, type Engine, type Handle } from '../engine/contract.js'
import { CALL_MILLISECONDS } from '../learner/step-runner.js'
import { checkSetup } from './setup-checks.js'
import type { BatchRange } from './sources.js'

/** A program, and the test samples that it measures. */
export interface EvaluationPass extends BatchRange {
  readonly program: Handle
  /** Whether the program also counts the samples whose class is among the likeliest, as its value `amongTop`. */
  readonly countsTop?: boolean
}

/** A program that estimates a model's batch-norm statistics anew, and the training samples for it: the same ones every time. */
export interface StatisticsPass extends BatchRange {
  readonly program: Handle
  /** The data set or stream of these samples. */
  readonly samples: Handle
  /** Names and sizes of the values that the pass adds to. */
  readonly values: readonly { readonly name: string; readonly elements: number }[]
}

/** The options of an evaluator. */
export interface EvaluatorOptions {
  /** Address of the module that exports `engine`. */
  readonly engine: string
  /** The group whose central model the replica takes before each measurement; absent: it holds the model that is measured. */
  readonly group?: Handle
  /** In no group. */
  readonly replica: Handle
  readonly test: Handle
  /** Absent where the model has no statistics. */
  readonly statistics?: StatisticsPass
  /** This evaluator's share of the test samples. */
  readonly evaluate: readonly EvaluationPass[]
  /** Absent if no metrics beside loss and accuracy are wanted. */
  readonly metrics?: MetricPlan
  /** Whether to count the labels that have a class: it is not known before they are read. */
  readonly countsLabels?: boolean
}

/** Counts and sums over a share of the test samples. */
export interface Findings {
  readonly samples: number
  /** Sums over the samples. */
  readonly loss: number
  readonly correct: number
  readonly amongTop: number
  /** Labels that have a class, where the options have `countsLabels`; else 0. */
  readonly labels: number
  /** Present if the options have `metrics`. */
  readonly tally?: TallyCounts
}

type PassFindings = Pick<Findings, 'loss' | 'correct' | 'amongTop' | 'labels'>

/**
 * Measures a model on a share of the held-out data. Before that it estimates the batch-norm statistics of a central model, since an average of learners
 * has none. Several evaluators of one thread each are faster than one of several threads, which would wait for the slowest thread at every operator.
 */
export class Evaluator {
  readonly #options: EvaluatorOptions
  #engine!: Engine
  #statisticsSlot: number | undefined
  #evaluateSlots: readonly number[] = []

  constructor(options: EvaluatorOptions) {
    checkSetup(options, 'engine', 'replica', 'test', 'evaluate')
    this.#options = options
  }

  /** Called by the runtime. */
  async started(): Promise<void> {
    const { engine, replica, statistics, evaluate, test } = this.#options
    this.#engine = await loadEngine(engine)
    if (statistics) this.#statisticsSlot = this.#engine.bind(replica, statistics.program, statistics.samples)
    this.#evaluateSlots = evaluate.map(({ program }) => this.#engine.bind(replica, program, test))
  }

  /** The replica takes the central model of the group's last whole round, and estimates its statistics. */
  take(): void {
    const { replica, group } = this.#options
    if (group !== undefined) this.#engine.adopt(replica, group)
    this.#estimateStatistics()
  }

  /** Measures the central model of the group's last whole round, or without a group the replica's model. */
  measure(): Findings {
    this.take()
    const { evaluate, metrics } = this.#options
    const tally = metrics && tallyOf(metrics)
    const findings = { samples: 0, loss: 0, correct: 0, amongTop: 0, labels: 0 }
    for (const [index, pass] of evaluate.entries()) {
      const { loss, correct, amongTop, labels } = this.#pass(this.#evaluateSlots[index]!, pass, tally)
      findings.samples += pass.steps * pass.batch
      findings.loss += loss * pass.batch
      findings.correct += correct
      findings.amongTop += amongTop
      findings.labels += labels
    }
    return tally ? { ...findings, tally: tally.counts } : findings
  }

  #estimateStatistics(): void {
    const { replica, statistics } = this.#options
    const slot = this.#statisticsSlot
    if (!statistics || slot === undefined) return
    for (const { name, elements } of statistics.values) this.#engine.writeValue(replica, slot, name, new Float32Array(elements))
    this.#pass(slot, statistics)
  }

  #pass(
    slot: number,
    { steps, batch, position, countsTop = false }: BatchRange & { countsTop?: boolean },
    tally?: MetricTally
  ): PassFindings {
    const { replica, countsLabels = false } = this.#options
    // Values cover one step only: they are read after each.
    const readsValues = countsTop || countsLabels || tally !== undefined
    let done = 0
    let loss = 0
    let correct = 0
    let amongTop = 0
    let labels = 0
    while (done < steps) {
      const limits = { steps: readsValues ? 1 : steps - done, milliseconds: CALL_MILLISECONDS, position: position + done * batch }
      const report = this.#engine.run(replica, slot, limits)
      if (report.outcome === 'cancelled') throw new ArbalestError('ABORTED', 'evaluation: it was cancelled')
      done += report.steps
      loss += report.lossSum
      correct += report.correctSum
      if (!readsValues || report.steps === 0) continue
      if (countsTop) amongTop += this.#engine.readValue(replica, slot, 'amongTop')[0]!
      if (!countsLabels && !tally) continue
      const target = this.#engine.readValue(replica, slot, 'target')
      if (countsLabels) labels += labelsThatCount({ labels: target })
      tally?.add(this.#engine.readValue(replica, slot, 'output'), target)
    }
    return { loss, correct, amongTop, labels }
  }

  /** Called by the runtime. */
  stopping(): void {
    this.#engine.release(this.#options.replica)
  }
}
