import { existsSync, writeFileSync } from 'node:fs'
import type { ReadSample } from '../../src/data/dataset.js'

export interface MortalReaderOptions {
  /** A file that is written when the first thread ends, so that no other does. If omitted, every thread ends. */
  readonly mark?: string
  /** The item at which the thread ends. */
  readonly deadly: string
}

/** Makes samples of (1, 4, 4) bytes from numbers, with a little noise, in a thread that ends at one of them. */
export function openReader({ mark, deadly }: MortalReaderOptions): ReadSample {
  return (item, to, draws) => {
    if (item === deadly && !(mark && existsSync(mark))) {
      if (mark) writeFileSync(mark, '')
      process.exit(1)
    }
    const [noise] = draws?.four(0) ?? [0]
    to.fill(Math.floor(16 * noise))
    to[Number(item) % 16] = 255
  }
}
