import { readFileSync } from 'node:fs'
import { giveBack } from './give-back.js'

/** The speed at which one thread copies, in bytes a second; reads and writes are both counted. */
export interface MemorySpeed {
  /** From and to memory. */
  readonly bytesPerSecond: number
  /** Within the largest cache. */
  readonly cacheBytesPerSecond: number
  /** The size of that cache. */
  readonly cacheBytes: number
}

/** Source and target together: larger than any cache, except those of a few servers. */
const LARGE = 2 ** 26
/** If the kernel does not report the size of the cache. */
const USUAL_CACHE = 2 ** 20

/** Takes about 100 ms. */
export function measureMemorySpeed(): MemorySpeed {
  const cacheBytes = largestCache()
  // A quarter each for source and target: half of the cache is the neighbours'.
  const cached = copySpeed(Math.min(LARGE, cacheBytes) / 4)
  const bytesPerSecond = copySpeed(LARGE / 2)
  return { bytesPerSecond, cacheBytesPerSecond: Math.max(cached, bytesPerSecond), cacheBytes }
}

/** The best of a few copies. */
function copySpeed(bytes: number): number {
  const from = new Float64Array(Math.ceil(bytes / 8)).fill(1)
  const to = new Float64Array(from.length).fill(2)
  const turns = Math.max(1, Math.floor(LARGE / 8 / bytes))
  let best = Infinity
  for (let i = 0; i < 8; i++) {
    const start = performance.now()
    for (let turn = 0; turn < turns; turn++) to.set(from)
    best = Math.min(best, (performance.now() - start) / turns)
  }
  const speed = (2 * from.byteLength * 1000) / best
  // A run within a limit measures before it takes its memory, and must not have this besides.
  for (const each of [from, to]) giveBack(each)
  return speed
}

function largestCache(): number {
  const sizes = [0, 1, 2, 3, 4].map((index) => {
    try {
      return bytesOf(readFileSync(`/sys/devices/system/cpu/cpu0/cache/index${index}/size`, 'utf8'))
    } catch {
      return 0
    }
  })
  return Math.max(...sizes) || USUAL_CACHE
}

/** As the kernel writes it: `32768K`. */
function bytesOf(size: string): number {
  const [, digits = '0', unit = ''] = /^(\d+)([KMG]?)/.exec(size) ?? []
  return Number(digits) * 1024 ** ' KMG'.indexOf(unit || ' ')
}
