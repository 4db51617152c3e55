import { availableParallelism, freemem } from 'node:os'

/** The number of processes that may run at the same time, each with up to `bytes` of memory. A container's limit counts, if this Node knows it. */
export function jobs(bytes) {
  const memory = process.availableMemory?.() ?? freemem()
  return Math.max(1, Math.min(availableParallelism(), Math.floor(memory / bytes)))
}
