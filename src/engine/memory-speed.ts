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

/** Copied at a time, in less time than the system gives a thread where others wait for its core. */
const PIECE = 2 ** 20
const TURNS = 8

/** Takes about 100 ms. `now`: the clock, in milliseconds; replaced in tests. */
export function measureMemorySpeed(now: () => number = () => performance.now()): MemorySpeed {
  const cacheBytes = largestCache()
  // A quarter each for source and target: half of the cache is the neighbours'.
  const cached = copySpeed(Math.min(LARGE, cacheBytes) / 4, now)
  const bytesPerSecond = copySpeed(LARGE / 2, now)
  return { bytesPerSecond, cacheBytesPerSecond: Math.max(cached, bytesPerSecond), cacheBytes }
}

/** Of copies whose pieces each take as long as in the best of a few turns: other processes on the core must not count. */
function copySpeed(bytes: number, now: () => number): number {
  const from = new Float64Array(Math.ceil(bytes / 8)).fill(1)
  const to = new Float64Array(from.length).fill(2)
  const length = PIECE / 8
  const pieces = Array.from({ length: Math.ceil(from.length / length) }, (_, i) => from.subarray(i * length, (i + 1) * length))
  const best = pieces.map(() => Infinity)
  for (let turn = 0; turn < TURNS; turn++)
    for (const [i, piece] of pieces.entries()) {
      const start = now()
      to.set(piece, i * length)
      best[i] = Math.min(best[i]!, now() - start)
    }
  const speed = (2 * from.byteLength * 1000) / best.reduce((sum, milliseconds) => sum + milliseconds)
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
