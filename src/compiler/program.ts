import type { Attributes, OperatorKind, Role, ValueId } from '../model/graph.js'

/**
 * The Program: a compiled computation, every buffer placed. It crosses to native code once, whole, as plain data.
 */

export type ElementType = 'f32' | 'f64' | 'bf16' | 'i32' | 'u8'

/** What a program computes in. Under `bf16` the parameters, their gradients and the statistics stay `f32`. */
export type Precision = 'f32' | 'bf16' | 'f64'

/**
 * How a tensor lies in memory: `plain` is canonical (row-major, PyTorch's order); every other name is the backend's own and
 * opaque to the compiler.
 */
export type Layout = string
export const PLAIN: Layout = 'plain'

/** The order in which a training step runs. Evaluation has `load` and `forward` only. */
export const SEGMENTS = ['load', 'forward', 'backward', 'exchange', 'update'] as const
/** A part of a step. */
export type SegmentName = (typeof SEGMENTS)[number]

/**
 * A region of a replica's memory. `weights` and `gradients` have the job's parameter layout; `statistics` outlives steps and is
 * shared by the programs of a replica; `activations` is scratch that every program of a replica lays out anew, and `staged` are those of its values
 * that are moved to the second tier.
 */
export type Arena = 'weights' | 'gradients' | 'statistics' | 'activations' | 'staged'

/** The kind of memory that a value lies in: the device's own, or the one behind it, which is the host's for a GPU and a file for cores. */
export type Tier = 'device' | 'host'

export interface Placement {
  readonly tier: Tier
  readonly arena: Arena
  /** Bytes from the arena's start; a multiple of 64. */
  readonly offset: number
  /** First and last operator, counted over all segments, at which the value is live; both inclusive. */
  readonly from: number
  readonly until: number
}

export interface PlacedValue {
  readonly id: ValueId
  readonly name: string
  readonly role: Role
  readonly shape: readonly number[]
  readonly type: ElementType
  readonly layout: Layout
  readonly bytes: number
  readonly placement: Placement
}

export interface LoweredOperator {
  readonly kind: OperatorKind
  readonly name: string
  readonly inputs: readonly ValueId[]
  readonly outputs: readonly ValueId[]
  readonly attributes: Attributes
  /** Bytes of scratch and where it lies in `activations`; 0 bytes where none is wanted. */
  readonly scratch: { readonly bytes: number; readonly offset: number }
  /** The backend's word for how it will run this, for profiles: `jit:avx2`, `own`. */
  readonly implementation: string
  /** Floating-point operations of one run, additions and multiplications counted apart; for profiles. */
  readonly flops: number
  /** It computes again what an operator before it has computed, and what was not held since. */
  readonly repeats?: true
}

/** One parameter's place in the flat parameter vector, in which a group of the optimiser lies together. */
export interface PlacedParameter {
  readonly name: string
  readonly shape: readonly number[]
  readonly type: ElementType
  readonly layout: Layout
  readonly offset: number
  readonly bytes: number
  /** Elements before this one in the canonical vector: parameters in the model's order, each in PyTorch's order. */
  readonly canonical: number
  /** Neither learners nor the central model ever change it. */
  readonly frozen?: true
  /** The number, from 1 on, of the optimiser's group that it belongs to, if it belongs to one. */
  readonly group?: number
}

/** The one layout of the flat parameter vector that all programs, replicas and synchronisers of a job share. */
export interface ParameterLayout {
  readonly parameters: readonly PlacedParameter[]
  readonly bytes: number
  /** Elements of the canonical vector. */
  readonly elements: number
}

/** A compiled computation for one backend and one size of batch: its operators in the order of a step, and where each of their values lies. */
export interface Program {
  readonly name: string
  readonly backend: EngineBackend
  readonly precision: Precision
  readonly batch: number
  /** Indexed by id. */
  readonly values: readonly PlacedValue[]
  readonly segments: Readonly<Record<SegmentName, readonly LoweredOperator[]>>
  readonly parameters: ParameterLayout
  readonly arenas: Readonly<Record<Arena, number>>
  readonly named: Readonly<Record<string, ValueId>>
}

/** What a job may be given: `cpu`, NVIDIA GPUs by `cuda`, or plain loops in `reference`, the slow oracle of both. */
export type BackendName = 'cpu' | 'cuda' | 'reference'

/** The names of all backends that a user may choose. */
export const BACKENDS = ['cpu', 'cuda', 'reference'] as const satisfies readonly BackendName[]

/** Every backend of the engine: also `cuda-host`, which runs the CUDA backend's kernels in plain loops on the CPU: a stand-in for tests, slow. */
export type EngineBackend = BackendName | 'cuda-host'

/** A tensor as the compiler offers it to a backend; `layout: null` leaves the choice to the backend. */
export interface OfferedTensor {
  readonly shape: readonly number[]
  readonly type: ElementType
  readonly layout: Layout | null
}

export interface LoweringRequest {
  readonly kind: OperatorKind
  readonly attributes: Attributes
  /** By position; null for NONE. */
  readonly inputs: readonly (OfferedTensor | null)[]
  readonly outputs: readonly (OfferedTensor | null)[]
  readonly precision: Precision
  /** That will run it, 1 if left out: scratch may depend on them, layouts do not. */
  readonly threads?: number
}

export interface AnsweredTensor {
  readonly type: ElementType
  readonly layout: Layout
  readonly bytes: number
}

/**
 * How a backend will run one operator: the layouts and types it takes and gives. Where they differ from what was offered the compiler
 * inserts `reorder` operators.
 */
export interface LoweringAnswer {
  readonly inputs: readonly (AnsweredTensor | null)[]
  readonly outputs: readonly (AnsweredTensor | null)[]
  readonly scratchBytes: number
  /** Pairs (output position, input position): the output may overwrite that input where nobody reads the input later. */
  readonly inPlace: readonly (readonly [number, number])[]
  readonly implementation: string
  /** Of how many tiles of its first output the kernel can give the partial sums that a batch norm needs; of none if left out or 0. */
  readonly partialSums?: number
}

/** What the compiler needs of an engine; the engine implements it, tests fake it. */
export interface LoweringBackend {
  readonly name: EngineBackend
  lower(request: LoweringRequest): LoweringAnswer
  /**
   * Whether one `reorder` may take several tensors: those of parameters then come as one operator at the step's start, where launching each costs more
   * than what it moves.
   */
  readonly reordersTogether?: boolean
  /** Whether a layout is the same for every element type: masters then lie as the narrower copies do that are made of them. */
  readonly layoutsOfAnyType?: boolean
  /** Bytes of a tensor in a layout, padding included. */
  bytes(shape: readonly number[], type: ElementType, layout: Layout): number
}
