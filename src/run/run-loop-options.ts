import type { MeasuredModel } from '../checkpoints/resume.js'
import type { Checkpointing } from './checkpointing.js'
import type { PopulationSchedule } from '../schedules/population.js'
import type { PopulationControl } from '../tuner/population-control.js'
import type { RunIdentity } from '../checkpoints/run-identity.js'
import type { RunState } from '../checkpoints/run-state.js'
import type { Schedule } from './schedule.js'
import type { RunSettings } from './run-settings.js'
import type { Trace } from '../observe/trace.js'

/** What a run's way needs to know, beside its crew. */
export interface CourseOptions {
  readonly schedule: Schedule
  readonly population: PopulationControl
  readonly trace: Trace | undefined
  readonly checkpoints: Checkpointing | undefined
  /** Where the run goes on from, and the best model so far. */
  readonly resumes: { readonly state: RunState; readonly best: MeasuredModel | undefined } | undefined
  readonly identity: RunIdentity
  /** The run's schedule where another population trains. */
  readonly reschedule: (population: PopulationSchedule) => Schedule
  readonly settings: RunSettings
  /** In the training set. */
  readonly samples: number
  /** Of a sample, that can be right or wrong. */
  readonly answers: number
  /** Whether the answers are the tokens of a text. */
  readonly writes: boolean
}
