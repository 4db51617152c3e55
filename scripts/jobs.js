import { availableParallelism, freemem } from 'node:os'

/** How many compilers may run side by side, each with up to `bytes` of memory. A container's limit counts, where this Node can tell. */
export function jobs(bytes) {
  const memory = process.availableMemory?.() ?? freemem()
  return Math.max(1, Math.min(availableParallelism(), Math.floor(memory / bytes)))
}
