import type { BackendName, Precision } from '../compiler/program.js'
import type { Dataset } from '../data/dataset.js'
import type { Model } from '../model/model.js'

/** What `train` takes. Whatever is left out gets the default that suits the model. */
export interface TrainOptions {
  /** A Model, or the name of one in the zoo: `lenet`, `resnet20`. */
  readonly model: Model | string
  /** A Dataset, or the name of one: `digits` (generated), `mnist`, `fashion-mnist`, `cifar-10`. */
  readonly data?: Dataset | string
  /** Where a named data set lies. */
  readonly dataDir?: string
  /** Samples a learner takes in a step. */
  readonly batch?: number
  /** How many learners train together; as many as there are cores if left out. */
  readonly learners?: number
  readonly optimiser?: OptimiserOptions
  readonly synchroniser?: SynchroniserOptions
  readonly until?: UntilOptions
  readonly precision?: Exclude<Precision, 'f64'>
  readonly backend?: BackendName
  readonly seed?: number
  /** Threads of one learner. */
  readonly threads?: number
  /** Stops the job as `job.stop()` does. */
  readonly signal?: AbortSignal
  /** The module of a learner of one's own: its address, or the path of its file. It exports a class or function that takes a LearnerContext. */
  readonly learner?: URL | string
  /** What every learner gets as its `options`: anything that can be posted to a thread. */
  readonly learnerOptions?: unknown
  readonly supervision?: SupervisionOptions
}

/** What happens to learners that die: each is replaced by one that starts from the central model, until too many have died in one place. */
export interface SupervisionOptions {
  /** How many may be replaced in one place within `window`; 3 if left out, 0 for none. */
  readonly restarts?: number
  /** Milliseconds; a minute if left out. */
  readonly window?: number
  /** Milliseconds without a step after which a learner that waits for nobody is given up; a minute if left out. */
  readonly deadline?: number
}

/** Stochastic gradient descent with momentum and weight decay, as in PyTorch. */
export interface OptimiserOptions {
  /** Learning rate. */
  readonly rate?: number
  /** The learner's own momentum. */
  readonly momentum?: number
  readonly weightDecay?: number
  readonly nesterov?: boolean
  /** Epochs at which the rate is multiplied by `decay` (0.1) and every learner starts anew from the central model. */
  readonly milestones?: readonly number[]
  readonly decay?: number
}

/** Synchronous model averaging (Crossbow, VLDB 2019). */
export interface SynchroniserOptions {
  readonly name?: 'sma'
  /** Iterations between two corrections (tau). */
  readonly period?: number
  /** How far a correction goes; min(1/k, 1/2) for k learners if left out. */
  readonly alpha?: number
  /** The central model's momentum (mu). */
  readonly syncMomentum?: number
}

/** When to end; whichever comes first. */
export interface UntilOptions {
  readonly epochs?: number
  /** Iterations: steps of each learner. */
  readonly steps?: number
}
