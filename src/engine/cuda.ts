import { addon } from './addon.js'

/** What the CUDA library finds on this machine; each of `missing` is one sentence. */
export interface CudaReport {
  /** Of the CUDA runtime, the driver, NCCL, NVRTC, cuBLASLt and cuDNN: those that are there. */
  readonly versions: Readonly<Record<string, string>>
  readonly missing: Readonly<Record<string, string>>
  readonly devices: readonly CudaDevice[]
}

export interface CudaDevice {
  readonly name: string
  /** Compute capability: `9.0`. */
  readonly capability: string
  /** Bytes. */
  readonly memory: number
  readonly freeMemory: number
}

/** Opens the CUDA library; the reason where it cannot be. Throws ENGINE_MISSING. */
export function describeCuda(): CudaReport | string {
  const { available, detail } = addon().describe('cuda')
  return available ? (JSON.parse(detail) as CudaReport) : detail
}
