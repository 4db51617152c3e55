import { setImmediate as turn } from 'node:timers/promises'
import { ArbalestError } from '../errors.js'
import type { RunOutcome, RunReport } from '../engine/contract.js'
import type { Pulse } from './heartbeat.js'

/** What a learner did between two pauses. */
export interface LearnerReport {
  readonly outcome: Exclude<RunOutcome, 'ran' | 'waiting'>
  readonly steps: number
  readonly busySeconds: number
  /** For the group, and for data that streams in. */
  readonly waitSeconds: number
  readonly dataSeconds: number
}

/** A native call of a learner lasts no longer than this, or one step; the mailbox has its turn in between. */
export const CALL_MILLISECONDS = 50

/** A learner that makes many short calls looks at its mailbox this often. */
const TURN_MILLISECONDS = 20

const NOTHING: RunReport = { outcome: 'ran', steps: 0, lossSum: 0, correctSum: 0, busySeconds: 0, waitSeconds: 0, dataSeconds: 0 }

/**
 * Stands between a learner's steps and its group: a call that meets a late group is repeated, one that meets a pause rests until the
 * learner is told to go on. So a step is written as if the learner were alone.
 */
export class Gate {
  readonly #pulse: Pulse
  #opened: Deferred<LearnerReport> | undefined
  #resumed = deferred<void>()
  #report = NOTHING
  #lastTurn = performance.now()
  #closed = false

  constructor(pulse: Pulse) {
    this.#pulse = pulse
  }

  get isOpen(): boolean {
    return this.#opened !== undefined
  }

  /** Lets steps through; resolves at the next pause, or when the learner has no more place in its group. */
  open(): Promise<LearnerReport> {
    this.#opened = deferred()
    this.#report = NOTHING
    this.#resumed.resolve()
    return this.#opened.promise
  }

  /** The learner is no more: whatever still waits here is given up. */
  close(): void {
    this.#closed = true
    this.#resumed.resolve()
  }

  /** The learner's own code has failed: whoever opened the gate is told. False where nobody has. */
  fail(error: unknown): boolean {
    const opened = this.#opened
    this.#opened = undefined
    this.#resumed = deferred()
    opened?.reject(error)
    return opened !== undefined
  }

  /** Gives the mailbox its turn where the last one is long ago. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#lastTurn > TURN_MILLISECONDS) await this.#turn()
  }

  /**
   * Repeats a call until it has run, or has run some of its steps when the group pauses; `done` counts the steps before. Throws an
   * Interruption where the learner's time is over.
   */
  async pass(call: (done: number) => RunReport): Promise<RunReport> {
    let sum = NOTHING
    for (;;) {
      await this.breathe()
      if (!this.#opened) await this.#resumed.promise
      if (this.#closed) throw new Interruption('cancelled')
      const report = call(sum.steps)
      const { outcome } = report
      sum = plus(sum, report)
      this.#report = plus(this.#report, report)
      if (report.steps > 0 || outcome === 'waiting') this.#pulse.beat(report.steps)
      if (outcome === 'ran') return sum
      if (outcome === 'waiting') await this.#turn()
      else this.#rest(outcome)
      if (outcome === 'evicted' || outcome === 'cancelled') throw new Interruption(outcome)
      if (outcome === 'paused' && sum.steps > 0) return sum
    }
  }

  /**
   * Repeats a call of a program that does not train until it has run; `done` counts the steps before. No group stands in its way: what it waits for
   * is data that streams in. Throws an Interruption where its replica was cancelled, or where the learner ends while it waits.
   */
  async passAlone(call: (done: number) => RunReport): Promise<RunReport> {
    let sum = NOTHING
    for (;;) {
      sum = plus(sum, call(sum.steps))
      if (sum.outcome === 'ran') return sum
      if (sum.outcome !== 'waiting') throw new Interruption('cancelled')
      this.#pulse.beat(0)
      await this.#turn()
      if (this.#closed) throw new Interruption('cancelled')
    }
  }

  #rest(outcome: LearnerReport['outcome']): void {
    const { steps, busySeconds, waitSeconds, dataSeconds } = this.#report
    this.#resumed = deferred()
    this.#opened?.resolve({ outcome, steps, busySeconds, waitSeconds, dataSeconds })
    this.#opened = undefined
  }

  async #turn(): Promise<void> {
    await turn()
    this.#lastTurn = performance.now()
  }
}

/** Ends the step in hand: the group has stopped, or goes on without this learner. */
export class Interruption extends ArbalestError {
  constructor(outcome: 'evicted' | 'cancelled') {
    super('ABORTED', `step: the learner was ${outcome}; let the error pass`, { data: { outcome } })
  }
}

interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

function deferred<T>(): Deferred<T> {
  let settle!: Omit<Deferred<T>, 'promise'>
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }))
  return { promise, ...settle }
}

function plus(a: RunReport, b: RunReport): RunReport {
  return {
    outcome: b.outcome,
    steps: a.steps + b.steps,
    lossSum: a.lossSum + b.lossSum,
    correctSum: a.correctSum + b.correctSum,
    busySeconds: a.busySeconds + b.busySeconds,
    waitSeconds: a.waitSeconds + b.waitSeconds,
    dataSeconds: a.dataSeconds + b.dataSeconds
  }
}
