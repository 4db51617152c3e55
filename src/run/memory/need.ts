import type { EngineBackend, Program } from '../../compiler/program.js'
import type { Engine, MemoryCount, MemorySpec, ReplicaMemory } from '../../engine/contract.js'

/** The engine memory of one learner, in bytes. */
export interface LearnerMemory {
  readonly weights: number
  readonly gradients: number
  /** The optimiser's states: velocity, or moments. */
  readonly velocity: number
  /** The learner's contribution to a round: a correction under SMA. */
  readonly correction: number
  readonly statistics: number
  /** Outputs of all operators, which share memory where they can, and scratch. */
  readonly activations: number
  /** Through which those of its vectors come that lie in the second tier. */
  readonly windows: number
}

/** The engine memory that all learners of a run share, in bytes. Where devices have memories of their own, that of the device with most. */
export interface SharedMemory {
  /** Arenas of activations, if more learners train than compute at once; otherwise each learner has its own activations. */
  readonly activations: number
  /** Two copies of the central model, and the vectors of the rule. */
  readonly central: number
  /** The replicas of the evaluators. */
  readonly evaluation: number
  readonly samples: number
  /** Through which vectors of the second tier come. */
  readonly windows: number
}

/** Which vectors lie in the second tier: the states of optimisers, or all that are laid out like the parameters; undefined for none. */
export type MovedVectors = 'states' | 'all' | undefined

/** The engine memory of a run, in bytes. */
export interface MemoryNeed {
  readonly perLearner: number
  readonly shared: number
  /** Of each learner besides, once the figures of rounds have been asked for; 0 if omitted. */
  readonly recording?: number
}

/** What a run makes in the engine's memory. */
export interface RunObjects {
  readonly backend: EngineBackend
  readonly train: Program
  readonly moved?: MovedVectors
  readonly group: NonNullable<MemorySpec['group']>
  readonly evaluation: EvaluationObjects
  /** Bytes. */
  readonly samples: number
  /** Arenas of activations that the learners share; undefined if each learner has its own activations. */
  readonly arenas?: number | undefined
  /** Whether the run takes checkpoints: one at a time is kept in memory as a copy until it is written. */
  readonly checkpoints?: boolean
}

/** The programs of an evaluation, and the number of replicas that are bound to all of them. */
export interface EvaluationObjects {
  readonly programs: readonly Program[]
  readonly replicas: number
}

/** A stream of a device with a memory of its own keeps room for the partial sums of a norm: of each part 256 at most and their sum, in float64. */
const BYTES_OF_NORM = 8 * 257

/** The memory of a run, as the engine counts it. */
export class RunMemory {
  readonly learner: LearnerMemory
  readonly shared: SharedMemory
  /** Bytes that the `update` of one learner reads and writes. */
  readonly updateBytes: number
  /** Bytes of the central model that a learner copies in a step, in the mean: under rules by which it goes on from there. */
  readonly adoptedBytes: number
  readonly #snapshot: number
  readonly #copyWindows: number
  readonly #recording: number
  readonly #norms: number
  readonly #objects: RunObjects

  constructor(engine: Engine, objects: RunObjects) {
    const { backend, train, group, evaluation, samples, arenas, moved } = objects
    const training = countMemory(engine, [train], { backend, group, ...(moved && { moved }) })
    const evaluating = countMemory(engine, evaluation.programs, { backend, ...(moved === 'all' && { moved }) })
    const { weights, gradients, optimiser, statistics, activations } = training.replica
    this.learner = {
      weights,
      gradients,
      velocity: optimiser,
      correction: training.contribution,
      statistics,
      activations: arenas === undefined ? activations : 0,
      windows: training.learnerWindows
    }
    this.shared = {
      activations: (arenas ?? 0) * activations,
      central: Math.max(...training.group),
      evaluation: evaluation.replicas * (bytesOf(evaluating.replica) + evaluating.learnerWindows),
      samples,
      windows: training.windows
    }
    this.updateBytes = training.update
    const { rule } = group
    this.adoptedBytes = rule.kind === 'synchronous' && rule.adopts ? train.parameters.bytes / rule.period : 0
    this.#snapshot = training.snapshot
    this.#copyWindows = training.copyWindows
    this.#recording = training.recording
    // Of gradients and of weights, parameter by parameter, where the optimiser wants them; else of a vector, to see that it is finite.
    this.#norms = engine.capabilities(backend).memory === 'device' ? 2 * train.parameters.parameters.length * BYTES_OF_NORM : 0
    this.#objects = objects
  }

  get need(): MemoryNeed {
    const copied = this.#objects.checkpoints ? this.#checkpointCopies() : { perLearner: 0, shared: 0 }
    return {
      perLearner: bytesOf(this.learner) + copied.perLearner + this.#norms,
      shared: bytesOf(this.shared) + copied.shared + (this.#norms && BYTES_OF_NORM),
      recording: this.#recording
    }
  }

  /** The arenas in which a device's learners compute, in bytes each. */
  arenas(learners: number): readonly number[] {
    const { activations } =
      this.#objects.arenas === undefined ? this.learner : { activations: this.shared.activations / this.#objects.arenas }
    return Array.from({ length: this.#objects.arenas ?? learners }, () => activations)
  }

  /** Bytes that each arena of activations may have, where the run takes at most `bytes` of a device that has `learners` learners. */
  activationsWithin(bytes: number, learners: number): number {
    return Math.floor((bytes - this.#besideActivations(learners)) / (this.#objects.arenas ?? learners))
  }

  /** Bytes that the run takes of a device that has `learners` learners, with arenas of so many bytes. */
  withActivations(bytes: number, learners: number): number {
    return this.#besideActivations(learners) + bytes * (this.#objects.arenas ?? learners)
  }

  /** Bytes of the vectors that lie on a device that has `learners` learners: laid out like the parameters, but for those of the evaluators. */
  vectors(learners: number): number {
    const { weights, gradients, velocity, correction } = this.learner
    return this.shared.central + learners * (weights + gradients + velocity + correction)
  }

  #besideActivations(learners: number): number {
    const { perLearner, shared } = this.need
    return shared - this.shared.activations + learners * (perLearner - this.learner.activations)
  }

  /** A checkpoint copies each learner's state, at most all vectors of the group, and the model that is evaluated with its statistics. */
  #checkpointCopies(): MemoryNeed {
    const {
      train: { parameters, arenas },
      moved
    } = this.#objects
    // The copies lie where vectors do that are moved.
    const ofGroup = moved ? this.#copyWindows : this.shared.central
    return { perLearner: this.#snapshot, shared: ofGroup + parameters.bytes + arenas.statistics }
  }
}

function countMemory(engine: Engine, programs: readonly Program[], spec: Omit<MemorySpec, 'programs'>): MemoryCount {
  const handles = programs.map((program) => engine.createProgram(program))
  try {
    return engine.countMemory({ ...spec, programs: handles })
  } finally {
    for (const handle of handles) engine.release(handle)
  }
}

/** The sum of all parts. */
export function bytesOf(parts: LearnerMemory | SharedMemory | ReplicaMemory): number {
  return Object.values(parts).reduce((sum: number, bytes: number) => sum + bytes, 0)
}
