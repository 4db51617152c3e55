import type { Engine, GroupSpec, GroupStatus, Handle, SnapshotContents } from '../engine/contract.js'

/** The messages that a synchroniser answers. */
export interface SynchroniserProtocol {
  /** The group in the engine, which learners join and evaluators copy the central model from. */
  group(): Handle

  /** Sets the learning rates, the restarts and the end of the run. */
  follow(schedule: GroupSchedule): void

  /** All learners pause at the start of this round, or of the first round that none of them has entered if that is later. */
  pauseAt(round: number): void

  /** All learners pause at the start of the first round that none of them has entered. */
  pauseSoon(): void

  status(): GroupStatus

  /** For each whole iteration since `fromIteration` the mean of the learners' losses. */
  losses(fromIteration: number): Float32Array

  /** Whether all numbers of the central model, and of the evaluation average if there is one, are finite. */
  isFinite(): boolean

  /** The model that is evaluated, in canonical order: the evaluation average, or the central model if there is none. */
  central(): Float32Array | Float64Array

  /** Overwrites the central model, in canonical order, while no learner trains. */
  replaceCentral(weights: Float32Array | Float64Array): void
}

/** What changes during a run, by numbers of rounds and iterations. */
export interface GroupSchedule {
  /** The learning rate of each iteration, in pieces by rising `from`, the first from 0. After a piece its last rate holds until the next. */
  readonly learningRates: readonly { readonly from: number; readonly rates: Float32Array }[]
  /** The rounds that every learner starts from the central model. */
  readonly restarts: readonly number[]
  /** How many iterations the run has. */
  readonly iterations: number
}

export interface SynchroniserSetup {
  readonly engine: Engine
  readonly group: GroupSpec
  /** The state of a group that this one continues. */
  readonly resumes?: SnapshotContents
}

/** Owns the group and its central model. It only sets numbers: the learners' threads compute the averages in native code. */
export class Synchroniser implements SynchroniserProtocol {
  readonly #engine: Engine
  readonly #group: Handle

  constructor({ engine, group, resumes }: SynchroniserSetup) {
    this.#engine = engine
    this.#group = engine.createGroup(group)
    try {
      if (resumes) engine.restoreGroup(this.#group, resumes)
    } catch (error) {
      // The `stopping` hook does not run for an actor whose constructor throws.
      engine.release(this.#group)
      throw error
    }
  }

  group(): Handle {
    return this.#group
  }

  follow({ learningRates, restarts, iterations }: GroupSchedule): void {
    for (const { from, rates } of learningRates) this.#engine.setLearningRates(this.#group, from, rates)
    this.#engine.setRestarts(this.#group, restarts)
    this.#engine.setEnd(this.#group, iterations)
  }

  pauseAt(round: number): void {
    this.#engine.setPause(this.#group, round)
  }

  pauseSoon(): void {
    this.#engine.setPause(this.#group, this.status().round)
  }

  status(): GroupStatus {
    return this.#engine.groupStatus(this.#group)
  }

  losses(fromIteration: number): Float32Array {
    return this.#engine.losses(this.#group, fromIteration)
  }

  isFinite(): boolean {
    return this.#engine.isFinite(this.#group)
  }

  central(): Float32Array | Float64Array {
    return this.#engine.readCentral(this.#group)
  }

  replaceCentral(weights: Float32Array | Float64Array): void {
    this.#engine.writeCentral(this.#group, weights)
  }

  stopping(): void {
    this.#engine.stop(this.#group)
    this.#engine.release(this.#group)
  }
}
