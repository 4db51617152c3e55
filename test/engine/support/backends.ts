import type { BackendDescription } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'

/**
 * The backends that operators and groups are tested on: those of the CPU, and the CUDA backend's kernels in the stand-in that needs no GPU. Where
 * ARBALEST_TEST_GPU is set, as `npm run test:gpu` does, the CUDA backend itself instead of all these.
 */
export function testedBackends(): readonly BackendDescription[] {
  const kernels = { available: true, detail: '', precisions: ['f32', 'bf16'] } as const
  if (process.env['ARBALEST_TEST_GPU']) return [{ name: 'cuda', ...kernels }]
  return [...engine.describe().backends, { name: 'cuda-host', ...kernels }]
}
