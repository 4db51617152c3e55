import type { ColumnReport } from '../data/tables/fit.js'
import type { LevelName } from '../engine/contract.js'
import type { EvaluationMetrics } from '../metrics/metrics.js'
import type { Intervention } from '../schedules/interventions.js'
import type { PopulationSchedule } from '../schedules/population.js'
import type { LoggedMetrics } from './logged-metrics.js'

/** An event of a Job: numbers and names only, so that an event is also a line of JSON. */
export type JobEvent =
  | PlannedEvent
  | WarningEvent
  | StartedEvent
  | LevelsEvent
  | ExchangeEvent
  | SetAsideEvent
  | ResumedEvent
  | CheckpointEvent
  | WentBackEvent
  | ProgressEvent
  | LoggedEvent
  | LearnerLostEvent
  | HostLostEvent
  | SampleSkippedEvent
  | PopulationEvent
  | IntervenedEvent
  | EvaluatedEvent
  | FinishedEvent

/** A line of a run's log, without the run's name and the time. */
export type RecordedEvent = RunEvent | JobEvent | FailedEvent

/** The first line of a run's log. */
export interface RunEvent {
  readonly event: 'run'
  /** The settings, complete with their defaults. */
  readonly options: unknown
  readonly versions: Readonly<Record<string, string>>
}

/** The last line of the log of a run that failed. */
export interface FailedEvent {
  readonly event: 'failed'
  readonly code: string
  readonly message: string
}

/** The plan of a run, emitted by a dry run before it takes its steps. */
export interface PlannedEvent {
  readonly event: 'planned'
  readonly programs: readonly PlannedProgram[]
  readonly learners: number
  /** Steps of each learner in a pass over the training set, and in the whole run. */
  readonly stepsAnEpoch: number
  readonly steps: number
  readonly bytesPerLearner: number
  readonly bytesShared: number
  readonly bytesFree: number
}

/** One of the Programs of a run, and its cost. */
export interface PlannedProgram {
  readonly name: string
  readonly batch: number
  readonly operators: number
  /** Of one call. */
  readonly flops: number
  /** Bytes of its memory by arena. */
  readonly arenas: Readonly<Record<string, number>>
}

/** Before `started`: the run takes more threads, memory or repetitions of its samples than its user may expect, or ends before its warm-up or the start of its average. */
export interface WarningEvent {
  readonly event: 'warning'
  /** In one line: the option, and what it costs. */
  readonly message: string
}

/** All programs are bound, and the first step is about to run. */
export interface StartedEvent {
  readonly event: 'started'
  readonly model: string
  readonly data: string
  readonly learners: number
  readonly batch: number
  readonly precision: string
  readonly synchroniser: string
  readonly seed: number
  /** Trained numbers in the model. */
  readonly parameters: number
  /** Samples in the training set. */
  readonly samples: number
  /** Iterations planned: each is one step of every learner. */
  readonly iterations: number
  /** What was found in the columns of a table, and what became of them. */
  readonly columns?: readonly ColumnReport[]
  /** Bytes that one learner holds, and bytes that all learners share. */
  readonly bytesPerLearner: number
  readonly bytesShared: number
  /** Processes that train together; absent if this one trains alone. */
  readonly hosts?: number
  /** Bytes of the values that a step computes again. This and the next two are there if a step does not fit into memory. */
  readonly recomputedBytes?: number
  /** Bytes of the values that a step moves to the second tier. */
  readonly movedBytes?: number
  /** The predicted time of a step, as a factor of its time without the limit. */
  readonly predictedSlowdown?: number
}

/** The levels over which the sums of the learners are added up; emitted where there are several devices, or hosts. */
export interface LevelsEvent {
  readonly event: 'levels'
  /** The cores of each device; an empty list where the device may use all cores. */
  readonly devices: readonly (readonly number[])[]
  /** From the bottom, above the learners of a device. Given as the option `levels`, they are used again. */
  readonly levels: readonly LevelName[]
  readonly measured: readonly LevelFigures[]
  /** The orders that were compared, each with the seconds that the sums of one round take. */
  readonly orders: readonly { readonly levels: readonly LevelName[]; readonly seconds: number }[]
  /** In words. */
  readonly reason: string
}

/** How several hosts sum what they have; emitted where there are several. */
export interface ExchangeEvent {
  readonly event: 'exchange'
  readonly mode: 'sharded' | 'racks' | 'ring' | 'hub'
  /** What the ways to sum all parameters once are predicted to take, the fastest first; empty where nothing had to be chosen. */
  readonly predicted: readonly { readonly exchange: string; readonly milliseconds: number }[]
  /** In words. */
  readonly reason: string
}

/** The measured speed of a level that adds up `parts` vectors, each as long as the parameters. */
export interface LevelFigures {
  readonly level: LevelName
  readonly parts: number
  readonly bytesPerSecond: number
  /** For one round. */
  readonly seconds: number
}

/** The folder held checkpoints of later iterations than the run begins at, or of another run than it goes on from; they were moved aside. */
export interface SetAsideEvent {
  readonly event: 'setAside'
  /** Newest first. `movedTo` is the checkpoint, unchanged; `reason` says how it is damaged, null where the run did not read it. */
  readonly checkpoints: readonly { readonly folder: string; readonly movedTo: string; readonly reason: string | null }[]
}

/** The run goes on from a checkpoint. */
export interface ResumedEvent {
  readonly event: 'resumed'
  readonly folder: string
  readonly round: number
  readonly iteration: number
  /** Newer checkpoints that are damaged, and how. */
  readonly refused: readonly { readonly folder: string; readonly reason: string }[]
  /** Why nothing is left to train: the run had come to this end already. Absent where it goes on. */
  readonly ended?: Exclude<FinishedEvent['reason'], 'stopped'>
}

/** The loss was not a finite number. The run goes back with a lower rate: to a checkpoint if a `resumed` event follows, else to its start. */
export interface WentBackEvent {
  readonly event: 'wentBack'
  /** The iteration of that loss. */
  readonly iteration: number
  /** From here on all rates are multiplied by it. */
  readonly learningRateScale: number
  /** How many more times the run may go back. */
  readonly retries: number
}

/** A checkpoint has been written, or could not be. */
export interface CheckpointEvent {
  readonly event: 'checkpoint'
  readonly iteration: number
  /** null where none was written. */
  readonly folder: string | null
  /** That the writing took, while training went on. */
  readonly seconds: number
  /** Why none was written; null where one was. */
  readonly reason: string | null
  /** The error's code; null where there is a checkpoint, and where one was left out because the one before was still being written. */
  readonly code: string | null
}

/** Emitted a few times a second; with the option `logEvery` instead at every multiple of that many iterations, and nowhere else. */
export interface ProgressEvent {
  readonly event: 'progress'
  /** Iterations that are done. */
  readonly iteration: number
  readonly iterations: number
  /** Passes over the training set so far, with the fraction of the present one. */
  readonly epoch: number
  /** Mean over the learners, and over the iterations since the last progress event. */
  readonly loss: number
  /** Of the last iteration. */
  readonly learningRate: number
  /** Of the last events; with `logEvery`, of the iterations since the last event. */
  readonly imagesPerSecond: number
  readonly learners: number
  /** Share of their time, 0 to 1, for which the learners waited for streamed data; 0 where the data lies in memory. */
  readonly dataWait: number
  /** Of training: without evaluation and set-up. */
  readonly seconds: number
}

/** An iteration that is done: one step of each learner. */
export interface StepEvent {
  /** Iterations that are done, this one included: 1 for the first. */
  readonly iteration: number
  /** Iterations planned. */
  readonly iterations: number
  /** Mean over the learners; NaN if its only learner failed. */
  readonly loss: number
  readonly learningRate: number
  readonly learners: number
}

/** Metrics of the user's own, given to `job.log` or to a learner's `context.log`. */
export interface LoggedEvent {
  readonly event: 'logged'
  /** The iteration to which they belong, as `progress` counts it. */
  readonly iteration: number
  /** The learner that logged them; null for `job.log`. */
  readonly learner: number | null
  readonly metrics: LoggedMetrics
}

/** A learner died, or made no progress and was given up. The others go on; its correction to the round in progress is lost. */
export interface LearnerLostEvent {
  readonly event: 'learnerLost'
  readonly learner: number
  /** Its rank among the learners, which its successor takes. */
  readonly rank: number
  /** The cause in words, and the error's code where it has one. */
  readonly reason: string
  readonly code: string | null
  /** The group's, when the learner was lost. */
  readonly round: number
  readonly iteration: number
  /** The learner that replaces it, from the central model; null where none does: the job fails, unless the place is `vacant`. */
  readonly replacedBy: number | null
  /** Memory does not hold a successor: the place stays empty, the others go on, and the population is made smaller. */
  readonly vacant: boolean
}

/** A host was lost, and the others go on without it and its learners: their places end, and those of all others are dealt out anew. */
export interface HostLostEvent {
  readonly event: 'hostLost'
  /** Its rank. */
  readonly host: number
  /** The cause in words. */
  readonly reason: string
  /** The group's, at the first rest after the loss. */
  readonly round: number
  readonly iteration: number
  /** Iterations planned now. */
  readonly iterations: number
  /** Hosts and learners that are left. */
  readonly hosts: number
  readonly learners: number
}

/** - `try`: a population is to be measured. - `settle`: the best was found; `to` may train already. - `look`: the load seems to have changed. */
export type TunerAction = 'try' | 'settle' | 'look'

/** Measurements of one population. */
export interface PopulationFigures {
  readonly learners: number
  readonly samplesPerSecond: number
  /** Standard deviation of a measuring window, as a share of the mean. */
  readonly std: number
  readonly windows: number
}

/** A decision about the number of learners. Where `from` and `to` differ, the number has changed from this round on. */
export interface PopulationEvent {
  readonly event: 'population'
  /** An action of the tuner, or `follow`: a given schedule changes the number here. */
  readonly action: TunerAction | 'follow'
  readonly round: number
  readonly iteration: number
  /** Iterations planned now. */
  readonly iterations: number
  readonly from: number
  readonly to: number
  /** In words. */
  readonly reason: string
  /** The measurements on which the decision rests. */
  readonly figures: readonly PopulationFigures[]
}

/** A program has changed the run, or asked it for something, before this round; or a learner has died in it, or has taken the place of one that died. */
export interface IntervenedEvent {
  readonly event: 'intervened'
  readonly intervention: Intervention
  /** The error of a learner's method that a message called. */
  readonly error?: { readonly code: string; readonly message: string }
}

/** A sample could not be read; the next one took its place. */
export interface SampleSkippedEvent {
  readonly event: 'sampleSkipped'
  /** The source of the sample: the path of an image. */
  readonly item: string
  readonly reason: string
  /** Samples skipped so far; over hosts by all of them. */
  readonly skipped: number
}

/** The central model was measured on held-out data. */
export interface EvaluatedEvent {
  readonly event: 'evaluated'
  readonly iteration: number
  readonly epoch: number
  readonly testLoss: number
  /** Share of right answers, 0 to 1; null where the targets are not classes. */
  readonly testAccuracy: number | null
  /** For texts only: e to the power of the loss per token. */
  readonly testPerplexity?: number
  /** Share of samples whose class is among the `topK` likeliest; present if the option `topK` is. */
  readonly testTopK?: number
  /** The option `metrics`, if it names any. */
  readonly testMetrics?: EvaluationMetrics
  /** That the evaluation took. */
  readonly seconds: number
}

/** The condition of `until`, other than epochs and steps, that ended a run. */
export type EarlyEnd = 'accuracy' | 'loss' | 'seconds' | 'patience'

/** The last event. */
export interface FinishedEvent {
  readonly event: 'finished'
  /** `completed` after all iterations, `stopped` by the caller, or the condition of `until` that held first. */
  readonly reason: 'completed' | 'stopped' | EarlyEnd
  /** The iteration of the model that is kept, to which accuracy, loss and weights belong. */
  readonly keptIteration: number
  readonly testAccuracy: number | null
  readonly testLoss: number
  /** For texts only: e to the power of the loss per token. */
  readonly testPerplexity?: number
  /** Share of samples whose class is among the `topK` likeliest; present if the option `topK` is. */
  readonly testTopK?: number
  /** The option `metrics`, if it names any. */
  readonly testMetrics?: EvaluationMetrics
  readonly imagesPerSecond: number
  /** At the end. */
  readonly learners: number
  /** How many learners trained from which round on. Given back as `learners: { schedule }`, it repeats the run bit for bit. */
  readonly population: PopulationSchedule
  readonly epochs: number
  readonly iterations: number
  /** Of training: without evaluation and set-up. */
  readonly seconds: number
  /** The most memory that was allocated at a time since the run began, with its samples: in bytes of the device with most. 0 if nothing was. */
  readonly peakDeviceBytes: number
  /**
   * Of the central model in canonical order, float32 little-endian. Empty for a run that was stopped while it was being prepared: it has neither trained nor
   * measured anything, so that its accuracy is null and its loss NaN.
   */
  readonly weightsSha256: string
  /** What programs have changed of the run, and which learners have died; absent if nothing. Given back as `interventions`, it repeats the run bit for bit. */
  readonly interventions?: readonly Intervention[]
  /** For runs with checkpoints only: `incomplete` if at least one could not be written, for which the command line exits with 1. */
  readonly checkpoints?: 'complete' | 'incomplete'
  /** Processes that have trained together; absent if this one trained alone. */
  readonly hosts?: number
  /** In words, that the model is no better on the test samples than the most frequent class, or the mean, as the answer to all of them; absent if it is, and for a run that was stopped. */
  readonly hint?: string
}
