import { ArbalestError } from '../errors.js'
import type { Engine } from './contract.js'

/** Throws OUT_OF_MEMORY where the engine may not take so many bytes more: they would be had at first, and end the process when they are touched. */
export function checkRoom(engine: Engine, bytes: number, what: string): void {
  const free = engine.describe().freeMemory
  if (bytes <= free) return
  const [wanted, there] = [bytes, free].map((size) => `${(size / 2 ** 20).toFixed(1)} MiB`)
  throw new ArbalestError('OUT_OF_MEMORY', `${what}: takes ${wanted} where ${there} are free; use a smaller batch or fewer learners`, {
    data: { what, wanted: bytes, free }
  })
}
