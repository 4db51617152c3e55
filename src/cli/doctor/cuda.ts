import { existsSync } from 'node:fs'
import { describeCuda, type CudaReport } from '../../engine/cuda.js'
import { bytes } from '../figures.js'
import type { Finding } from './finding.js'
import { firstLineOf } from './tools.js'

/** Whether backend `cuda` can train here: its library, the driver, the devices and what they have free. Training on the CPU needs none of it. */
export function cuda(): readonly Finding[] {
  const report = asked()
  if (typeof report !== 'string') return [libraries(report), ...report.devices.map(device)]
  const gpu = driver()
  const mend = { mend: 'run `npx arbalest setup --cuda`' }
  return [{ name: 'CUDA', status: 'absent', detail: `${gpu ?? 'no NVIDIA driver'}; ${report}`, ...(gpu !== undefined && mend) }]
}

function asked(): CudaReport | string {
  try {
    return describeCuda()
  } catch {
    return 'the native engine is not built'
  }
}

function libraries({ versions, missing, devices }: CudaReport): Finding {
  const found = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const absent = Object.values(missing)
  const detail = [found.join(', '), ...absent, ...(devices.length === 0 ? ['no GPU'] : [])].join('; ')
  const complete = devices.length > 0 && ['driver', 'cuBLASLt', 'cuDNN'].every((name) => name in versions)
  return { name: 'CUDA', status: complete ? 'present' : 'absent', detail }
}

function device({ name, capability, memory, freeMemory }: CudaReport['devices'][number], number: number): Finding {
  return { name: `GPU ${number}`, status: 'present', detail: `${name} (${capability}); ${bytes(freeMemory)} free of ${bytes(memory)}` }
}

/** The driver by its own word, where our library cannot be asked. */
function driver(): string | undefined {
  const gpu = firstLineOf('nvidia-smi', '--query-gpu=name,driver_version,memory.total', '--format=csv,noheader')
  if (gpu !== undefined) return gpu
  const files = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((triplet) => `/usr/lib/${triplet}/libcuda.so.1`)
  const file = files.find((path) => existsSync(path))
  return file && `${file}, and no nvidia-smi that answers`
}
