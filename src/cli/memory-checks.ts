import { totalmem } from 'node:os'
import { measureMemorySpeed } from '../engine/memory-speed.js'
import { usableMemory } from '../engine/machine.js'
import { engine } from '../engine/native.js'
import { ArbalestError, messageOf } from '../errors.js'
import type { Check } from './check.js'
import { bytes } from './text.js'

/** More than the buffers of most disks hold. */
const MEASURED_BYTES = 2 ** 26

/** The memory, and how fast one thread copies in it. */
export function memory(): Check {
  const { bytesPerSecond } = measureMemorySpeed()
  const detail = `${bytes(usableMemory())} usable of ${bytes(totalmem())}; a thread copies ${rate(bytesPerSecond / 2)}`
  return { name: 'memory', status: 'present', detail }
}

/** How fast values could be moved to this folder by `--spill`. Without it training works as well. */
export function disk(folder: string): Check {
  try {
    const { storeBytesPerSecond, fetchBytesPerSecond } = engine.measureTransfers('cpu', MEASURED_BYTES, { folder })
    return {
      name: 'disk',
      status: 'present',
      detail: `${rate(storeBytesPerSecond)} written and ${rate(fetchBytesPerSecond)} read in ${folder}`
    }
  } catch (error) {
    const unbuilt = !(error instanceof ArbalestError) || error.code === 'ENGINE_MISSING' || error.code === 'BACKEND_UNAVAILABLE'
    return { name: 'disk', status: 'absent', detail: unbuilt ? 'not measured: the native engine is not built' : messageOf(error) }
  }
}

/** How fast values move between a GPU and its host, or why the GPU takes none. */
export function gpuCopies(): Check {
  try {
    const { storeBytesPerSecond, fetchBytesPerSecond } = engine.measureTransfers('cuda', MEASURED_BYTES, {})
    const detail = `${rate(storeBytesPerSecond)} from the first GPU and ${rate(fetchBytesPerSecond)} to it`
    return { name: 'GPU copies', status: 'present', detail }
  } catch (error) {
    return { name: 'GPU copies', status: 'absent', detail: messageOf(error) }
  }
}

function rate(bytesPerSecond: number): string {
  return `${(bytesPerSecond / 1e9).toFixed(2)} GB/s`
}
