import { ArbalestError } from '../errors.js'
import type { Engine, Handle } from '../engine/contract.js'
import { loadEngine } from './engine-module.js'

/** A program over so many batches of a data set, from a position on. */
export interface Pass {
  readonly program: Handle
  readonly batch: number
  readonly steps: number
  readonly position: number
}

/** How a model's batch-norm statistics are estimated anew: a pass over training samples that are the same every time. */
export interface StatisticsPass extends Pass {
  /** Names and sizes of the values that the pass adds to. */
  readonly values: readonly { readonly name: string; readonly elements: number }[]
}

export interface EvaluatorOptions {
  /** Address of the module that exports `engine`. */
  readonly engine: string
  readonly group: Handle
  /** Without a group; it holds the measured model afterwards. */
  readonly replica: Handle
  readonly train: Handle
  readonly test: Handle
  /** Absent where the model has no statistics. */
  readonly statistics?: StatisticsPass
  /** Together they see every test sample once: whole batches, then the rest. */
  readonly evaluate: readonly Pass[]
  /** Whether samples can be right or wrong. */
  readonly classifies: boolean
}

export interface Measurement {
  readonly testLoss: number
  readonly testAccuracy: number | null
  readonly seconds: number
}

/** A native call lasts no longer than this, or one step, so that it can be cancelled between two. */
const CALL_MILLISECONDS = 50

/** Measures the central model on held-out data, with batch-norm statistics estimated through that very model: an average of learners has none. */
export class Evaluator {
  readonly #options: EvaluatorOptions
  #engine!: Engine
  #statisticsSlot: number | undefined
  #evaluateSlots: readonly number[] = []

  constructor(options: EvaluatorOptions) {
    this.#options = options
  }

  async started(): Promise<void> {
    const { engine, replica, statistics, evaluate, train, test } = this.#options
    this.#engine = await loadEngine(engine)
    if (statistics) this.#statisticsSlot = this.#engine.bind(replica, statistics.program, train)
    this.#evaluateSlots = evaluate.map(({ program }) => this.#engine.bind(replica, program, test))
  }

  /** Measures the central model of the group's last whole round. */
  measure(): Measurement {
    const { group, replica, evaluate, classifies } = this.#options
    const start = performance.now()
    this.#engine.adopt(replica, group)
    this.#estimateStatistics()
    let samples = 0
    let loss = 0
    let correct = 0
    for (const [index, pass] of evaluate.entries()) {
      const sums = this.#pass(this.#evaluateSlots[index]!, pass)
      samples += pass.steps * pass.batch
      loss += sums.loss * pass.batch
      correct += sums.correct
    }
    return { testLoss: loss / samples, testAccuracy: classifies ? correct / samples : null, seconds: (performance.now() - start) / 1000 }
  }

  #estimateStatistics(): void {
    const { replica, statistics } = this.#options
    const slot = this.#statisticsSlot
    if (!statistics || slot === undefined) return
    for (const { name, elements } of statistics.values) this.#engine.writeValue(replica, slot, name, new Float32Array(elements))
    this.#pass(slot, statistics)
  }

  #pass(slot: number, { steps, batch, position }: Pass): { loss: number; correct: number } {
    let done = 0
    let loss = 0
    let correct = 0
    while (done < steps) {
      const limits = { steps: steps - done, milliseconds: CALL_MILLISECONDS, position: position + done * batch }
      const report = this.#engine.run(this.#options.replica, slot, limits)
      if (report.outcome === 'cancelled') throw new ArbalestError('ABORTED', 'evaluation: it was cancelled')
      done += report.steps
      loss += report.lossSum
      correct += report.correctSum
    }
    return { loss, correct }
  }

  stopping(): void {
    this.#engine.release(this.#options.replica)
  }
}
