import { addon } from './addon.js'

/** The CUDA library's report about this machine. */
export interface CudaReport {
  /** Versions of those that are found of the CUDA runtime, the driver, NCCL, NVRTC, cuBLASLt and cuDNN. */
  readonly versions: Readonly<Record<string, string>>
  /** For each of the others one sentence with the reason. */
  readonly missing: Readonly<Record<string, string>>
  readonly devices: readonly CudaDevice[]
  readonly banks: BankReport
}

/** What the learner banks of this process have done. */
export interface BankReport {
  /** Steps of learners in banks. */
  readonly steps: number
  /** Recordings of banks that could not be made, so that their learners ran by themselves; and why, of the last one. */
  readonly refusals: number
  readonly refusal: string
}

export interface CudaDevice {
  readonly name: string
  /** Compute capability: `9.0`. */
  readonly capability: string
  /** Bytes. */
  readonly memory: number
  readonly freeMemory: number
}

/** Opens the CUDA library. Returns the reason if it cannot be opened. Throws ENGINE_MISSING. */
export function describeCuda(): CudaReport | string {
  const { available, detail } = addon().describe('cuda')
  return available ? (JSON.parse(detail) as CudaReport) : detail
}
