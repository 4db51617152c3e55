import type { Program } from '../../compiler/program.js'
import { sma } from '../../rules/sma.js'
import { vectorCount, type VectorCount } from './vectors.js'

/** The engine memory of one learner, in bytes. */
export interface LearnerMemory {
  readonly weights: number
  readonly gradients: number
  /** The optimiser's states: velocity, or moments. */
  readonly velocity: number
  /** The slot for the learner's contribution to a round: a correction under SMA. */
  readonly correction: number
  readonly statistics: number
  /** Outputs of all operators, which share memory where they can, and scratch. */
  readonly activations: number
}

/** The engine memory that all learners of a run share, in bytes. */
export interface SharedMemory {
  /** Arenas of activations, if more learners train than compute at once; otherwise each learner has its own activations. */
  readonly activations: number
  /** Two copies of the central model, and the vectors of the rule. */
  readonly central: number
  /** The replicas of the evaluators. */
  readonly evaluation: number
  readonly samples: number
}

/** The engine memory of a run, in bytes. */
export interface MemoryNeed {
  readonly perLearner: number
  readonly shared: number
}

/** The programs of an evaluation, and the number of replicas that each is bound to. */
export interface EvaluationNeed {
  readonly programs: readonly Program[]
  readonly replicas: number
}

export interface MemoryOptions {
  /** Vectors as long as the parameters; by default those of synchronous model averaging. */
  readonly vectors?: VectorCount
  /** Arenas of activations that the learners share; undefined if each learner has its own activations. */
  readonly arenas?: number | undefined
  /** Whether the run takes checkpoints: one at a time is kept in memory as a copy until it is written. */
  readonly checkpoints?: boolean
}

export function learnerMemory(train: Program, { vectors = averaging(train), arenas }: MemoryOptions = {}): LearnerMemory {
  const { weights, gradients, statistics, activations } = train.arenas
  return {
    weights,
    gradients,
    velocity: vectors.optimiser * train.parameters.bytes,
    correction: vectors.contribution * train.parameters.bytes,
    statistics,
    activations: arenas === undefined ? activations : 0
  }
}

/** `samples` in bytes. */
export function sharedMemory(
  train: Program,
  evaluation: EvaluationNeed,
  samples: number,
  { vectors = averaging(train), arenas = 0 }: MemoryOptions = {}
): SharedMemory {
  const { parameters } = train
  const largest = (name: 'activations' | 'statistics') => Math.max(...evaluation.programs.map((program) => program.arenas[name]))
  return {
    activations: arenas * train.arenas.activations,
    central: vectors.central * parameters.bytes,
    evaluation: evaluation.replicas * (parameters.bytes + largest('activations') + largest('statistics')),
    samples
  }
}

/** `samples` in bytes. */
export function memoryNeed(train: Program, evaluation: EvaluationNeed, samples: number, options: MemoryOptions = {}): MemoryNeed {
  const copied = options.checkpoints ? checkpointCopies(train, options.vectors ?? averaging(train)) : { perLearner: 0, shared: 0 }
  return {
    perLearner: bytesOf(learnerMemory(train, options)) + copied.perLearner,
    shared: bytesOf(sharedMemory(train, evaluation, samples, options)) + copied.shared
  }
}

/** A checkpoint copies each learner's weights and optimiser states, the group's vectors, and the model that is evaluated. */
function checkpointCopies({ parameters, arenas }: Program, { optimiser, central }: VectorCount): MemoryNeed {
  return {
    perLearner: (1 + optimiser) * parameters.bytes + arenas.statistics,
    shared: (1 + central) * parameters.bytes + arenas.statistics
  }
}

function averaging(train: Program): VectorCount {
  return vectorCount(train, sma({}, { learners: 1 }))
}

/** The sum of all parts. */
export function bytesOf(parts: LearnerMemory | SharedMemory): number {
  return Object.values(parts).reduce((sum: number, bytes: number) => sum + bytes, 0)
}
