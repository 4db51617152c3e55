import type { Engine, GroupSpec, GroupStatus, Handle, SnapshotContents } from '../engine/contract.js'

export interface SynchroniserOptions {
  readonly engine: Engine
  readonly group: GroupSpec
  /** What the group goes on from. */
  readonly resumes?: SnapshotContents
}

/** What changes while the group runs, all tied to numbers of rounds and iterations. */
export interface GroupSchedule {
  /** Rates of iterations, in pieces that begin at rising iterations, the first at 0; a piece's last rate holds until the next begins. */
  readonly learningRates: readonly { readonly from: number; readonly rates: Float32Array }[]
  /** Rounds at whose start every learner starts anew from the central model. */
  readonly restarts: readonly number[]
  /** The first iteration that is not run. */
  readonly iterations: number
}

/** Owns the group and its central model. It only sets numbers: the averaging itself is done by the learners' threads in native code. */
export class Synchroniser {
  readonly #engine: Engine
  readonly #group: Handle

  constructor({ engine, group, resumes }: SynchroniserOptions) {
    this.#engine = engine
    this.#group = engine.createGroup(group)
    try {
      if (resumes) engine.restoreGroup(this.#group, resumes)
    } catch (error) {
      // An actor that was never made has no `stopping`.
      engine.release(this.#group)
      throw error
    }
  }

  group(): Handle {
    return this.#group
  }

  follow({ learningRates: rates, restarts, iterations }: GroupSchedule): void {
    for (const piece of rates) this.#engine.setLearningRates(this.#group, piece.from, piece.rates)
    this.#engine.setRestarts(this.#group, restarts)
    this.#engine.setEnd(this.#group, iterations)
  }

  /** Learners pause at this round, or at the first that nobody has entered yet where it is later. */
  pauseAt(round: number): void {
    this.#engine.setPause(this.#group, round)
  }

  pauseSoon(): void {
    this.#engine.setPause(this.#group, this.status().round)
  }

  status(): GroupStatus {
    return this.#engine.groupStatus(this.#group)
  }

  /** Mean loss over the learners of each whole iteration since `fromIteration`. */
  losses(fromIteration: number): Float32Array {
    return this.#engine.losses(this.#group, fromIteration)
  }

  /** Whether the central model has finite numbers alone. */
  isFinite(): boolean {
    return this.#engine.isFinite(this.#group)
  }

  /** The central model in canonical order. */
  central(): Float32Array | Float64Array {
    return this.#engine.readCentral(this.#group)
  }

  /** Replaces the central model, while no learner runs; canonical. */
  restore(weights: Float32Array | Float64Array): void {
    this.#engine.writeCentral(this.#group, weights)
  }

  stopping(): void {
    this.#engine.stop(this.#group)
    this.#engine.release(this.#group)
  }
}
