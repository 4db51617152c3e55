import type { EngineBackend } from '../compiler/program.js'

/** Whether the backend's devices are GPUs, or stand in for them: each has memory of its own. */
export function isGpu(backend: EngineBackend): boolean {
  return backend === 'cuda' || backend === 'cuda-host'
}
