import type { LevelName } from '../engine/contract.js'
import type { PopulationSchedule } from '../schedules/population.js'

/** What a Job tells while it runs: numbers and names only, so that an event is also a line of JSON. */
export type JobEvent =
  | PlannedEvent
  | StartedEvent
  | LevelsEvent
  | SetAsideEvent
  | ResumedEvent
  | CheckpointEvent
  | WentBackEvent
  | ProgressEvent
  | LearnerLostEvent
  | SampleSkippedEvent
  | PopulationEvent
  | EvaluatedEvent
  | FinishedEvent

/** What a run would be, told by a dry run before it takes its steps. */
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

/** One of the Programs of a run, and what it costs. */
export interface PlannedProgram {
  readonly name: string
  readonly batch: number
  readonly operators: number
  /** Of one run. */
  readonly flops: number
  /** Bytes of its memory, arena by arena. */
  readonly arenas: Readonly<Record<string, number>>
}

/** Everything is bound and the first step is about to run. */
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
  /** Bytes that one learner holds, and those that all share. */
  readonly bytesPerLearner: number
  readonly bytesShared: number
}

/** By which levels the learners' sums become one; told where there are several devices, or hosts. */
export interface LevelsEvent {
  readonly event: 'levels'
  /** The cores of each; none where it may use all. */
  readonly devices: readonly (readonly number[])[]
  /** From the bottom, above the learners of a device: given back as `levels` they are the same again. */
  readonly levels: readonly LevelName[]
  readonly measured: readonly LevelFigures[]
  /** The orders that were compared, and how long the sums of a round are on their way in each. */
  readonly orders: readonly { readonly levels: readonly LevelName[]; readonly seconds: number }[]
  /** In words. */
  readonly reason: string
}

/** How fast a level is with so many parts, each as long as the parameters. */
export interface LevelFigures {
  readonly level: LevelName
  readonly parts: number
  readonly bytesPerSecond: number
  /** For one round. */
  readonly seconds: number
}

/** Checkpoints of later iterations than the one that the run begins at lay in its folder, and made way. */
export interface SetAsideEvent {
  readonly event: 'setAside'
  /** The newest first. `movedTo` has the checkpoint as it was; `reason` says how it is damaged, null where it was not looked at. */
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
}

/** The loss was no finite number: the run goes back, to a checkpoint where a `resumed` event follows, else to its start, with a lower rate. */
export interface WentBackEvent {
  readonly event: 'wentBack'
  /** Where the loss was not finite. */
  readonly iteration: number
  /** What all rates are multiplied by from here on. */
  readonly learningRateScale: number
  /** How often it may still go back. */
  readonly retries: number
}

/** A checkpoint is on the disk, or could not be had. */
export interface CheckpointEvent {
  readonly event: 'checkpoint'
  readonly iteration: number
  /** null where there is none. */
  readonly folder: string | null
  /** That the writing took, beside training. */
  readonly seconds: number
  /** Why there is none; null where there is one. */
  readonly reason: string | null
  /** The error's code; null where there is a checkpoint, and where one was left out because the one before was still being written. */
  readonly code: string | null
}

/** A few times a second. */
export interface ProgressEvent {
  readonly event: 'progress'
  readonly iteration: number
  readonly iterations: number
  /** Passes over the training set so far, with its fraction. */
  readonly epoch: number
  /** Mean over the learners and over the iterations since the last such event. */
  readonly loss: number
  readonly learningRate: number
  readonly imagesPerSecond: number
  readonly learners: number
  /** Share of the learners' time that they waited for data that streams in, 0 to 1; 0 where the data lies in memory. */
  readonly dataWait: number
  /** Of training: without evaluation and set-up. */
  readonly seconds: number
}

/** A learner died, or made no progress and was given up. The others go on; its correction to the round in progress is lost. */
export interface LearnerLostEvent {
  readonly event: 'learnerLost'
  readonly learner: number
  /** Its place among the learners, which its successor takes. */
  readonly rank: number
  /** What it died of, in words, and the error's code where it has one. */
  readonly reason: string
  readonly code: string | null
  /** The group's when it was lost. */
  readonly round: number
  readonly iteration: number
  /** The learner that starts from the central model in its place; null where it stays empty, or where too many have died there: the job fails then. */
  readonly replacedBy: number | null
  /** Whether its place stays empty, because there is no memory for it: the others go on, and the population is made smaller. */
  readonly vacant: boolean
}

/** - `try`: to measure another population. - `settle`: found; `to` may be what trains already. - `look`: the load seems to have changed. */
export type TunerAction = 'try' | 'settle' | 'look'

/** What was measured of one population. */
export interface PopulationFigures {
  readonly learners: number
  readonly samplesPerSecond: number
  /** Of one window from another, as a share. */
  readonly std: number
  readonly windows: number
}

/** The number of learners was decided on; where `from` and `to` differ it has changed, from this round on. */
export interface PopulationEvent {
  readonly event: 'population'
  /** - `try`: to measure another number. - `settle`: found. - `look`: the load seems to have changed. - `follow`: as a given schedule says. */
  readonly action: TunerAction | 'follow'
  readonly round: number
  readonly iteration: number
  /** Iterations planned now. */
  readonly iterations: number
  readonly from: number
  readonly to: number
  /** In words. */
  readonly reason: string
  /** What was measured of each number of learners in this look. */
  readonly figures: readonly PopulationFigures[]
}

/** A sample could not be read, and the next one took its place. */
export interface SampleSkippedEvent {
  readonly event: 'sampleSkipped'
  /** What the sample is read from: the path of an image. */
  readonly item: string
  readonly reason: string
  /** How many there have been so far. */
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
  /** For texts only: e to the power of the loss a token. */
  readonly testPerplexity?: number
  /** Share of samples whose class is among the `topK` likeliest, where that was asked for. */
  readonly testTopK?: number
  /** That the evaluation took. */
  readonly seconds: number
}

/** Why a run ends before its last planned iteration, where nobody stopped it. */
export type EarlyEnd = 'accuracy' | 'loss' | 'seconds' | 'patience'

/** The last event. */
export interface FinishedEvent {
  readonly event: 'finished'
  /** `stopped` by somebody, or by the first of the run's own conditions that held. */
  readonly reason: 'completed' | 'stopped' | EarlyEnd
  /** The iteration after which the trained model was as it is kept, to which accuracy, loss and weights belong. */
  readonly keptIteration: number
  readonly testAccuracy: number | null
  readonly testLoss: number
  /** For texts only: e to the power of the loss a token. */
  readonly testPerplexity?: number
  readonly imagesPerSecond: number
  /** At the end. */
  readonly learners: number
  /** How many learners trained from which round on: given back as `learners: { schedule }` it makes this very run again. */
  readonly population: PopulationSchedule
  readonly epochs: number
  readonly iterations: number
  /** Of training: without evaluation and set-up. */
  readonly seconds: number
  /** Of the central model in canonical order, float32 little-endian. */
  readonly weightsSha256: string
  /** For runs with checkpoints only: `incomplete` if at least one could not be written, for which the command line exits with 1. */
  readonly checkpoints?: 'complete' | 'incomplete'
}
