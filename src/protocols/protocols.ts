import type { GroupRule, GroupStatus, RoundFigures, StreamStatus } from '../engine/contract.js'
import type { SavedModel } from '../formats/saved-model.js'
import type { FloatTensors } from '../formats/tensor.js'
import type { PopulationEvent } from '../observe/events.js'
import type { DeferredReply } from '../runtime/actor.js'
import type { RunChange, RunPlace, SettingChange } from '../schedules/interventions.js'

/** How far a run is, and by which numbers it trains. */
export interface SynchroniserStatus extends GroupStatus {
  /** Whether the learners rest until `resume`. */
  readonly paused: boolean
  /** Of the next iteration. */
  readonly learningRate: number
  readonly rule: GroupRule
}

/** The central model after a whole round. */
export interface CentralWeights extends RunPlace {
  /** By name, in PyTorch's shapes. */
  readonly weights: FloatTensors
}

/** The central model after a whole round, as a model that can predict: `loadModel` makes a TrainedModel of it, in any thread. */
export interface CentralModel extends RunPlace, SavedModel {}

/**
 * The messages of a run's synchroniser. `pause`, `model` and `set` take effect before the next round, at which all learners rest, and are recorded with that round;
 * the others are answered at once.
 */
export interface SynchroniserProtocol {
  /** How far the run is. */
  status(): SynchroniserStatus
  /** All learners rest before the next round, until `resume`. Answers with that round. */
  pause(): DeferredReply<RunPlace>
  /** The learners go on after a `pause`. Without effect otherwise. */
  resume(): void
  /** What is evaluated and saved: the evaluation average where the run has one, else the central model of the last whole round. */
  central(): CentralWeights
  /**
   * The same as a model that predicts, once given to `loadModel`. It is taken before the next round, while all learners rest, because the evaluators
   * estimate its batch-norm statistics.
   */
  model(): DeferredReply<CentralModel>
  /**
   * The figures of the whole rounds after this one (-1: all), as soon as there is one; at most the newest 4096. The first call starts the recording: rounds
   * that began before have no figures.
   */
  roundsAfter(round: number): DeferredReply<readonly RoundFigures[]>
  /**
   * The figures of a sample of the rounds after this one, about ten a second; none if there are none yet. The sample is recorded while this is asked for at least every
   * two seconds; in some of its rounds distances are null, because measuring them would cost too much. Over several hosts it has the learners of the first one.
   */
  sampledRounds(round: number): readonly RoundFigures[]
  /** Changes learning rate or rule. Answers with the round. Rejects with INVALID_OPTION for what the rule does not have or take. */
  set(change: SettingChange): DeferredReply<RunPlace>
}

/** A learner's place in a run. */
export interface LearnerStatus {
  /** From 0; over hosts, of the whole run. A replacement inherits it. */
  readonly place: number
  /** The learner's number, unique in the run; null while it is being started, or where there is none. */
  readonly learner: number | null
  /** `vacant`: a learner died, and no other takes its place before the population changes. */
  readonly state: 'starting' | 'resting' | 'training' | 'vacant'
  /** Steps of the present learner. */
  readonly steps: number
  /** Learners that died here so far, and the cause of the last one. */
  readonly deaths: number
  readonly lastDeath: string | null
}

/** The learners of a run. */
export interface PopulationStatus {
  readonly learners: number
  readonly places: readonly LearnerStatus[]
}

/**
 * The messages of a run's supervisor. `resize`, `replace`, `tuning` and `message` take effect before the next round, at which all learners rest, and are
 * recorded with that round; the others are answered at once.
 */
export interface SupervisorProtocol {
  /** The learners by place. */
  population(): PopulationStatus
  /** Trains with this number of learners, which no tuner changes any more. Rejects with OUT_OF_MEMORY, LEARNER_FAILED, and INVALID_OPTION for more than averaging is stable with. */
  resize(learners: number): DeferredReply<RunPlace>
  /** Another learner takes this place: it begins at the central model, and the present one ends. Rejects with LEARNER_FAILED if it cannot be started: then the present one stays. */
  replace(place: number): DeferredReply<RunPlace>
  /** Lets the tuner change the number of learners, or keeps it. Rejects with INVALID_STATE in a run without a tuner. */
  tuning(on: boolean): DeferredReply<RunPlace>
  /** What was decided about the number of learners, with the reasons, without the first `from` decisions. */
  decisions(from?: number): readonly PopulationEvent[]
  /** Calls a method of the learner in this place and answers with its result, or rejects with its error: what `LearnerRef` sends. */
  message(place: number, method: string, args: readonly unknown[]): DeferredReply<unknown>
}

/** The messages of any learner; one of the user's own has every public method of its class besides. */
export interface LearnerProtocol {
  /** Which learner is in this place, and how it is. */
  status(): LearnerStatus
}

/** A measurement of the central model that a program asked for. */
export interface CentralMeasurement extends RunPlace {
  readonly samples: number
  /** Mean over the samples. */
  readonly testLoss: number
  /** Share of right answers, 0 to 1; null where the targets are not classes. */
  readonly testAccuracy: number | null
  /** Share of samples whose class is among the `topK` likeliest, if the run counts these. */
  readonly testTopK?: number
}

/** The messages of a run's evaluators. */
export interface EvaluatorProtocol {
  /**
   * Measures the central model before the next round, while all learners rest: on the run's test samples, or on those of the data set of this name. No rule
   * that ends the run looks at the result.
   */
  measure(data?: string): DeferredReply<CentralMeasurement>
}

/** The messages of a run's checkpoints. */
export interface CheckpointsProtocol {
  /** Takes a checkpoint before the next round. Answers with its folder once it is written. Rejects with WRITE_FAILED. */
  save(): DeferredReply<string>
}

/** The messages of a run's feeder. */
export interface FeederStatusProtocol {
  /** Of the training samples' stream. */
  status(): StreamStatus
}

/** How the actors of a run have it changed; actors that are wired by hand have none, and make changes at once. */
export interface RunControl {
  /** Whether the learners rest until `resume`. */
  readonly paused: boolean
  /** Asks for a change before the next round. Resolves with its answer. */
  request(change: RunChange): Promise<unknown>
  /** The learners go on after a `pause`. */
  resume(): void
}
