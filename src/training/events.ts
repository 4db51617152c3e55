/** What a Job tells while it runs: numbers and names only, so that an event is also a line of JSON. */
export type JobEvent = StartedEvent | ProgressEvent | LearnerLostEvent | EvaluatedEvent | FinishedEvent

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

/** A few times a second. */
export interface ProgressEvent {
  readonly event: 'progress'
  readonly iteration: number
  readonly iterations: number
  /** Passes over the training set so far, with its fraction. */
  readonly epoch: number
  /** Mean over the learners and over the iterations since the last such event. */
  readonly loss: number
  readonly rate: number
  readonly imagesPerSecond: number
  readonly learners: number
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
  /** The learner that starts from the central model in its place; null where too many have died there: the job fails then. */
  readonly replacedBy: number | null
}

/** The central model was measured on held-out data. */
export interface EvaluatedEvent {
  readonly event: 'evaluated'
  readonly iteration: number
  readonly epoch: number
  readonly testLoss: number
  /** Share of right answers, 0 to 1; null where the targets are not classes. */
  readonly testAccuracy: number | null
  /** That the evaluation took. */
  readonly seconds: number
}

/** The last event. */
export interface FinishedEvent {
  readonly event: 'finished'
  readonly reason: 'completed' | 'stopped'
  readonly testAccuracy: number | null
  readonly testLoss: number
  readonly imagesPerSecond: number
  readonly learners: number
  readonly epochs: number
  readonly iterations: number
  /** Of training: without evaluation and set-up. */
  readonly seconds: number
  /** Of the central model in canonical order, float32 little-endian. */
  readonly weightsSha256: string
}
