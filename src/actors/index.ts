/**
 * The actors of a training run, to wire runs of one's own and to talk to those of `train` from other threads:
 * `import { Synchroniser, Supervisor } from 'arbalest/actors'`.
 *
 * @module arbalest/actors
 */
export { Synchroniser, type SynchroniserControlProtocol, type SynchroniserSetup } from './synchroniser.js'
export type { GroupSchedule } from './group-control.js'
export { Supervisor, type RunningLearner, type SupervisorControlProtocol, type SupervisorOptions } from './supervisor.js'
export { Learner, type LearnerControlProtocol, type LearnerOptions, type LearnerTask, type RepeatedMessage } from './learner.js'
export { Evaluator, type EvaluationPass, type EvaluatorOptions, type Findings, type StatisticsPass } from './evaluator.js'
export { Feeder, type FeederOptions, type FeederProtocol, type SkippedSample, type SourceStream } from './feeder.js'
export { CheckpointWriter, type CheckpointOrder, type CheckpointWriterOptions, type CheckpointWriterProtocol } from './checkpoint-writer.js'
export type { LearnerFailure } from './learner-failure.js'
export type { MembershipRecord, SpawnLearner, Succession } from './learner-slot.js'
export { Heartbeat } from '../learner/heartbeat.js'
export type { MessageOutcome } from '../learner/learner-plugin.js'
export type { LearnerReport } from '../learner/step-runner.js'

export { actorsAt, type JobActors, type LearnerMessages, type LearnerRef, type SynchroniserRef } from '../protocols/job-actors.js'
export type { RunActorName, RunCall, RunRef, SendCall } from '../protocols/run-ref.js'
export type {
  CentralMeasurement,
  CentralModel,
  CentralWeights,
  CheckpointsProtocol,
  EvaluatorProtocol,
  FeederStatusProtocol,
  LearnerProtocol,
  LearnerStatus,
  PopulationStatus,
  RunControl,
  SupervisorProtocol,
  SynchroniserProtocol,
  SynchroniserStatus
} from '../protocols/protocols.js'
export type { Intervention, RunChange, RunPlace, SettingChange } from '../schedules/interventions.js'
export type { Monitored } from '../options/until.js'

export { compile, type CompileOptions } from '../compiler/compile.js'
export type { MemoryLimit } from '../compiler/tiers/fit.js'
export type { ParameterLayout, Program } from '../compiler/program.js'
export type {
  Departure,
  Engine,
  GroupSpec,
  Handle,
  HostsLink,
  HostsPlace,
  HostsSpec,
  MemberFigures,
  ReplicaSpec,
  RoundFigures,
  RuleChange
} from '../engine/contract.js'
export { loweringBackend } from '../engine/lowering.js'
export { engine } from '../engine/native.js'
export { predictionGraph } from '../model/graph-builder.js'
export { initialParametersInTurns } from '../model/initialise.js'
export { sma } from '../rules/sma.js'

/** The module that exports `engine`: actors in other threads load it from there. */
export const ENGINE_MODULE = new URL('../engine/native.js', import.meta.url)
/** The module of the class `Learner`. */
export const LEARNER_MODULE = new URL('./learner.js', import.meta.url)
/** The module of the learner that `train` uses unless another is named. */
export const BUILT_IN_LEARNER_MODULE = new URL('../learner/built-in-learner.js', import.meta.url)
/** The module of the class `Evaluator`. */
export const EVALUATOR_MODULE = new URL('./evaluator.js', import.meta.url)
/** The module of the class `Feeder`. */
export const FEEDER_MODULE = new URL('./feeder.js', import.meta.url)
/** The module of the class `CheckpointWriter`. */
export const CHECKPOINT_WRITER_MODULE = new URL('./checkpoint-writer.js', import.meta.url)
