import type { EngineBackend, Precision } from '../../compiler/program.js'

/** The machine, as this process may use it. */
export interface MachineDescription {
  readonly processor: string
  /** Of avx2, fma, avx512f, avx512_bf16, amx_bf16, ...: the instruction sets that the kernels can use. */
  readonly features: readonly string[]
  /** Cores that this process may use, with affinity and cgroup limits taken into account. */
  readonly cores: number
  /** Bytes that this process may still allocate, with the limits of the machine and of its cgroup taken into account. */
  readonly freeMemory: number
  readonly backends: readonly BackendDescription[]
}

export interface BackendDescription {
  readonly name: EngineBackend
  readonly available: boolean
  /** The version of its library; if it is not available, the reason and the fix. */
  readonly detail: string
  readonly precisions: readonly Precision[]
}

/** What a backend can do. Code that works in different ways on different backends asks for the capability, never for the name. */
export interface BackendCapabilities {
  /** Its devices are groups of this process's cores, and the threads that call it do the computing. Otherwise one thread can keep a device busy. */
  readonly usesCores: boolean
  /** Where its devices keep their data: each in a memory of its own, or all in the machine's memory. */
  readonly memory: 'device' | 'machine'
  /** Calls queue work on streams and return before it is done. Otherwise the work is done when a call returns. */
  readonly streams: boolean
  /** The kernels of a step can be recorded once and run again as one piece of work. */
  readonly recording: boolean
  /** Several learners may read and write one central model at the same time, as asynchronous rules do. */
  readonly asynchronousRules: boolean
  /** One `reorder` operator takes several tensors. */
  readonly reordersTogether: boolean
  /** A layout is the same for all element types. */
  readonly layoutsOfAnyType: boolean
}
