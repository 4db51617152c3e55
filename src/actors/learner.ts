import { ArbalestError } from '../errors.js'
import type { Engine, Handle, ReplicaSpec, RunOutcome } from '../engine/contract.js'
import { Later, type ActorContext } from '../runtime/actor.js'
import { loadEngine } from './engine-module.js'

export interface LearnerOptions {
  /** Address of the module that exports `engine`. */
  readonly engine: string
  readonly replica: ReplicaSpec
  /** The training step, and the samples that it loads. */
  readonly program: Handle
  readonly dataset: Handle
}

/** What a learner did between two pauses. */
export interface LearnerReport {
  readonly outcome: Exclude<RunOutcome, 'ran' | 'waiting'>
  readonly steps: number
  readonly busySeconds: number
  readonly waitSeconds: number
}

/** A learner answers its mailbox at least this often, or after every step where one takes longer. */
const TURN_MILLISECONDS = 50

/** Drives one Replica with small batches. It blocks its thread in native code, so it has one of its own. */
export class Learner {
  readonly #options: LearnerOptions
  readonly #context: ActorContext<Learner>
  #engine!: Engine
  #replica!: Handle
  #slot!: number
  #report = { steps: 0, busySeconds: 0, waitSeconds: 0 }
  #ended: ((report: LearnerReport) => void) | undefined

  constructor(options: LearnerOptions, context: ActorContext<Learner>) {
    this.#options = options
    this.#context = context
  }

  async started(): Promise<void> {
    const { engine, replica, program, dataset } = this.#options
    this.#engine = await loadEngine(engine)
    this.#replica = this.#engine.createReplica(replica)
    this.#slot = this.#engine.bind(this.#replica, program, dataset)
  }

  /** Trains until the group pauses, evicts or cancels it. */
  train(): Later<LearnerReport> {
    if (this.#ended) throw new ArbalestError('INVALID_STATE', `${this.#context.name}: it is training already; wait until it has paused`)
    this.#report = { steps: 0, busySeconds: 0, waitSeconds: 0 }
    const report = new Promise<LearnerReport>((resolve) => (this.#ended = resolve))
    this.#context.self.tell.turn()
    return new Later(report)
  }

  /** One native call, after which the mailbox has its turn. */
  turn(): void {
    const limits = { steps: Number.MAX_SAFE_INTEGER, milliseconds: TURN_MILLISECONDS }
    const { outcome, steps, busySeconds, waitSeconds } = this.#engine.run(this.#replica, this.#slot, limits)
    this.#report.steps += steps
    this.#report.busySeconds += busySeconds
    this.#report.waitSeconds += waitSeconds
    if (outcome === 'ran' || outcome === 'waiting') return this.#context.self.tell.turn()
    this.#ended?.({ outcome, ...this.#report })
    this.#ended = undefined
  }

  stopping(): void {
    this.#engine.release(this.#replica)
  }
}
