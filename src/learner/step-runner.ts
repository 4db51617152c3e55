import { AsyncLocalStorage } from 'node:async_hooks'
import { ArbalestError } from '../errors.js'
import type { RunOutcome, RunReport } from '../engine/contract.js'
import { eventLoopTurn } from '../node.js'
import { deferred, type Deferred } from '../runtime/promises.js'
import type { Heartbeat } from './heartbeat.js'

/** What a learner did between two pauses. */
export interface LearnerReport {
  readonly outcome: Exclude<RunOutcome, 'ran' | 'waiting'>
  readonly steps: number
  readonly busySeconds: number
  /** Seconds spent waiting for the group, and for streamed data. */
  readonly waitSeconds: number
  readonly dataSeconds: number
}

/** The longest time that a native call takes, if a step is not longer: between two calls it can be cancelled, and the mailbox of a learner has its turn. */
export const CALL_MILLISECONDS = 50

/** How often a learner that makes many short calls gives its mailbox a turn. */
const MAILBOX_MILLISECONDS = 20

const NOTHING: RunReport = { outcome: 'ran', steps: 0, lossSum: 0, correctSum: 0, busySeconds: 0, waitSeconds: 0, dataSeconds: 0 }

/**
 * Runs a learner's native calls as if the learner were alone: repeats a call that has to wait for the group, and holds calls back between a
 * pause of the group and the next `resume`.
 */
export class StepRunner {
  readonly #heartbeat: Heartbeat
  /** The answer to `resume`; undefined while the learner is paused. */
  #paused: Deferred<LearnerReport> | undefined
  #resumed = deferred()
  /** The first `resume` has been called. */
  #begun = false
  /** The message that a call comes from. */
  readonly #message = new AsyncLocalStorage<{ answered: boolean }>()
  #report = NOTHING
  #lastMailboxTurn = performance.now()
  #closed = false
  #interrupted = false

  constructor(heartbeat: Heartbeat) {
    this.#heartbeat = heartbeat
  }

  get isRunning(): boolean {
    return this.#paused !== undefined
  }

  /** A step was told that there is no next one. The learner's own code may have caught that. */
  get isInterrupted(): boolean {
    return this.#interrupted
  }

  /** Lets calls run. Resolves at the next pause, or when the learner is no member of its group any more. */
  resume(): Promise<LearnerReport> {
    this.#begun = true
    this.#interrupted = false
    this.#paused = deferred()
    this.#report = NOTHING
    this.#resumed.resolve()
    return this.#paused.promise
  }

  /** The learner ends: interrupts the calls that still wait. */
  close(): void {
    this.#closed = true
    this.#resumed.resolve()
  }

  /** The learner's own code has failed: rejects the promise of `resume`. Returns false if the learner is paused. */
  fail(error: unknown): boolean {
    const paused = this.#paused
    this.#paused = undefined
    this.#resumed = deferred()
    paused?.reject(error)
    return paused !== undefined
  }

  /** Handles a message, for which the learner rests: steps that are made for its answer would wait for it for ever. */
  async handle<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const message = { answered: false }
    try {
      return await this.#message.run(message, work)
    } finally {
      message.answered = true
    }
  }

  /** Gives the mailbox a turn if its last one was long ago. */
  async yieldToMailbox(): Promise<void> {
    if (performance.now() - this.#lastMailboxTurn > MAILBOX_MILLISECONDS) await this.#mailboxTurn()
  }

  /**
   * Repeats a call until it has run, or until the group pauses after some of its steps. The call is passed the number of steps done so far.
   * Throws a StepInterrupted once the learner is no member of its group any more, and INVALID_STATE for a step of its start or of a message.
   */
  async run(call: (done: number) => RunReport): Promise<RunReport> {
    this.#refuseOutsideSteps()
    let sum = NOTHING
    for (;;) {
      await this.yieldToMailbox()
      if (!this.#paused) await this.#resumed.promise
      if (this.#closed) throw this.#interruption('cancelled')
      const report = call(sum.steps)
      const { outcome } = report
      sum = plus(sum, report)
      this.#report = plus(this.#report, report)
      if (report.steps > 0 || outcome === 'waiting') this.#heartbeat.beat(report.steps)
      if (outcome === 'ran') return sum
      if (outcome === 'waiting') await this.#mailboxTurn()
      else this.#pause(outcome)
      if (outcome === 'evicted' || outcome === 'cancelled') throw this.#interruption(outcome)
      if (outcome === 'paused' && sum.steps > 0) return sum
    }
  }

  /**
   * Repeats a call of a program that does not train until it has run. Such a call does not depend on the group and waits only for streamed
   * data. Throws a StepInterrupted if its replica is cancelled, or if the learner ends while the call waits.
   */
  async runWithoutGroup(call: (done: number) => RunReport): Promise<RunReport> {
    let sum = NOTHING
    for (;;) {
      sum = plus(sum, call(sum.steps))
      if (sum.outcome === 'ran') return sum
      if (sum.outcome !== 'waiting') throw new StepInterrupted('cancelled')
      this.#heartbeat.beat(0)
      await this.#mailboxTurn()
      if (this.#closed) throw new StepInterrupted('cancelled')
    }
  }

  #refuseOutsideSteps(): void {
    if (!this.#begun)
      throw new ArbalestError('INVALID_STATE', 'step: the learner has not begun to train; make its steps in step(), not while it starts')
    if (this.#message.getStore()?.answered === false)
      throw new ArbalestError(
        'INVALID_STATE',
        'step: all learners rest while one handles a message; make its steps in step(), not for an answer'
      )
  }

  #interruption(outcome: 'evicted' | 'cancelled'): StepInterrupted {
    this.#interrupted = true
    return new StepInterrupted(outcome)
  }

  #pause(outcome: LearnerReport['outcome']): void {
    const { steps, busySeconds, waitSeconds, dataSeconds } = this.#report
    this.#resumed = deferred()
    this.#paused?.resolve({ outcome, steps, busySeconds, waitSeconds, dataSeconds })
    this.#paused = undefined
  }

  async #mailboxTurn(): Promise<void> {
    await eventLoopTurn()
    this.#lastMailboxTurn = performance.now()
  }
}

/** Ends the current step: the group has stopped, or continues without this learner. */
export class StepInterrupted extends ArbalestError {
  constructor(outcome: 'evicted' | 'cancelled') {
    super('ABORTED', `step: the learner was ${outcome}; let the error pass`, { data: { outcome } })
  }
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
