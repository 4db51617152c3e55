import type { Engine, Handle } from '../engine/contract.js'
import { ArbalestError } from '../errors.js'
import type { LearningRatePiece } from '../schedules/pieces.js'

/** What changes during a run, by numbers of rounds and iterations. */
export interface GroupSchedule {
  /** The learning rate of each iteration, in pieces by rising `from`, the first from 0. After a piece its last rate holds until the next. */
  readonly learningRates: readonly LearningRatePiece[]
  /** The rounds that every learner starts from the central model. */
  readonly restarts: readonly number[]
  /** How many iterations the run has. */
  readonly iterations: number
}

export function applySchedule(engine: Engine, group: Handle, { learningRates, restarts, iterations }: GroupSchedule): void {
  for (const { from, rates } of learningRates) engine.setLearningRates(group, from, rates)
  engine.setRestarts(group, restarts)
  engine.setEnd(group, iterations)
}

/** Whether no round of the group is in progress. */
export function isAtRest(engine: Engine, group: Handle): boolean {
  try {
    // A change of nothing, which the engine refuses while a round is in progress.
    engine.setRule(group, {})
    return true
  } catch (error) {
    if (error instanceof ArbalestError && error.code === 'INVALID_STATE') return false
    throw error
  }
}
