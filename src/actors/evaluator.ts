import { ArbalestError } from '../errors.js'
import { loadEngine, type Engine, type Handle } from '../engine/contract.js'

/** A program over so many batches of a data set, from a position on. */
export interface Pass {
  readonly program: Handle
  readonly batch: number
  readonly steps: number
  readonly position: number
  /** The program counts samples among the top ones too, as its value `amongTop`. */
  readonly countsTop?: boolean
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
  /** This evaluator's share of the test samples. */
  readonly evaluate: readonly Pass[]
}

/** What was found on a share of the test samples. */
export interface Findings {
  readonly samples: number
  /** Sums over the samples. */
  readonly loss: number
  readonly correct: number
  readonly amongTop: number
}

/** A native call lasts no longer than this, or one step, so that it can be cancelled between two. */
const CALL_MILLISECONDS = 50

/**
 * Measures the central model on a share of the held-out data, with batch-norm statistics estimated through that very model: an average of
 * learners has none. Several of one thread each share the work better than one of several threads, which all wait for the slowest at
 * every operator.
 */
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

  /** The replica holds the central model of the group's last whole round, with its statistics. */
  take(): void {
    this.#engine.adopt(this.#options.replica, this.#options.group)
    this.#estimateStatistics()
  }

  /** Measures the central model of the group's last whole round. */
  measure(): Findings {
    this.take()
    const { evaluate } = this.#options
    const findings = { samples: 0, loss: 0, correct: 0, amongTop: 0 }
    for (const [index, pass] of evaluate.entries()) {
      const { loss, correct, amongTop } = this.#pass(this.#evaluateSlots[index]!, pass)
      findings.samples += pass.steps * pass.batch
      findings.loss += loss * pass.batch
      findings.correct += correct
      findings.amongTop += amongTop
    }
    return findings
  }

  #estimateStatistics(): void {
    const { replica, statistics } = this.#options
    const slot = this.#statisticsSlot
    if (!statistics || slot === undefined) return
    for (const { name, elements } of statistics.values) this.#engine.writeValue(replica, slot, name, new Float32Array(elements))
    this.#pass(slot, statistics)
  }

  #pass(slot: number, { steps, batch, position, countsTop = false }: Pass): Omit<Findings, 'samples'> {
    const { replica } = this.#options
    let done = 0
    let loss = 0
    let correct = 0
    let amongTop = 0
    while (done < steps) {
      // A count that no report has is read after each step.
      const limits = { steps: countsTop ? 1 : steps - done, milliseconds: CALL_MILLISECONDS, position: position + done * batch }
      const report = this.#engine.run(replica, slot, limits)
      if (report.outcome === 'cancelled') throw new ArbalestError('ABORTED', 'evaluation: it was cancelled')
      done += report.steps
      loss += report.lossSum
      correct += report.correctSum
      if (countsTop && report.steps > 0) amongTop += this.#engine.readValue(replica, slot, 'amongTop')[0]!
    }
    return { loss, correct, amongTop }
  }

  stopping(): void {
    this.#engine.release(this.#options.replica)
  }
}
