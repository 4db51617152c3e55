import type { Program } from '../../compiler/program.js'
import { sma } from '../../rules/sma.js'
import { vectorCount, type VectorCount } from './vectors.js'

/** What one learner holds in engine memory, in bytes. */
export interface LearnerMemory {
  readonly weights: number
  readonly gradients: number
  /** The optimiser's states: velocity, or moments. */
  readonly velocity: number
  /** The slot in which it brings its correction, or whatever its rule takes, to a round. */
  readonly correction: number
  readonly statistics: number
  /** Every operator's outputs, where they share memory, and scratch. */
  readonly activations: number
}

/** What all learners of a run share, in bytes. */
export interface SharedMemory {
  /** Arenas of activations, where there are more learners than compute at once; each learner has its own otherwise. */
  readonly activations: number
  /** The central model, twice, and what the rule keeps beside it. */
  readonly central: number
  /** The replicas on which it is measured. */
  readonly evaluation: number
  readonly samples: number
}

/** What a run will hold in engine memory, in bytes. */
export interface MemoryNeed {
  readonly perLearner: number
  readonly shared: number
}

/** The programs that measure a model, and on how many replicas they are bound. */
export interface EvaluationNeed {
  readonly programs: readonly Program[]
  readonly replicas: number
}

export interface MemoryOptions {
  /** Vectors like the parameters; those of synchronous model averaging if left out. */
  readonly vectors?: VectorCount
  /** How many arenas of activations the learners share; undefined where each has its own. */
  readonly arenas?: number | undefined
  /** Whether checkpoints are taken: one at a time lies in memory as a copy until it is written. */
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
  const copied = options.checkpoints ? copiedMemory(train, options.vectors ?? averaging(train)) : { perLearner: 0, shared: 0 }
  return {
    perLearner: bytesOf(learnerMemory(train, options)) + copied.perLearner,
    shared: bytesOf(sharedMemory(train, evaluation, samples, options)) + copied.shared
  }
}

/** What a checkpoint copies: of each learner its weights and its optimiser's states, of the group its vectors, and the model that is measured. */
function copiedMemory({ parameters, arenas }: Program, { optimiser, central }: VectorCount): MemoryNeed {
  return {
    perLearner: (1 + optimiser) * parameters.bytes + arenas.statistics,
    shared: (1 + central) * parameters.bytes + arenas.statistics
  }
}

function averaging(train: Program): VectorCount {
  return vectorCount(train, sma({}, { learners: 1 }))
}

/** All parts together. */
export function bytesOf(parts: LearnerMemory | SharedMemory): number {
  return Object.values(parts).reduce((sum: number, bytes: number) => sum + bytes, 0)
}
