import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

const KEY = 'arbalest.fake-engine'
const BYTES = 1 << 28

/** Cells [0, FIRST) are the memory's own: the lock, a count of changes, the next free cell. */
const LOCK = 0
const CHANGES = 1
const FREE = 1
const FIRST = 16

/**
 * Numbers that all threads of the process share. They are handed out piece by piece, never returned, and touched lazily. A reader or writer
 * must hold the lock.
 */
class SharedMemory {
  readonly numbers: Float64Array
  readonly #signals: Int32Array

  constructor(buffer: SharedArrayBuffer) {
    this.numbers = new Float64Array(buffer)
    this.#signals = new Int32Array(buffer, 0, 2)
  }

  locked<T>(body: () => T): T {
    while (Atomics.compareExchange(this.#signals, LOCK, 0, 1) !== 0) Atomics.wait(this.#signals, LOCK, 1, 1)
    try {
      return body()
    } finally {
      Atomics.add(this.#signals, CHANGES, 1)
      Atomics.notify(this.#signals, CHANGES)
      Atomics.store(this.#signals, LOCK, 0)
      Atomics.notify(this.#signals, LOCK, 1)
    }
  }

  /** How often the lock has been released. */
  changes(): number {
    return Atomics.load(this.#signals, CHANGES)
  }

  /** Waits until the lock has been released more than `seen` times, or the time is up. */
  awaitChange(seen: number, milliseconds: number): void {
    Atomics.wait(this.#signals, CHANGES, seen, milliseconds)
  }

  /** Allocates this many zeroed numbers; returns the index of the first. */
  allocate(count: number): number {
    const at = Math.max(FIRST, this.numbers[FREE]!)
    this.numbers[FREE] = at + count
    return at
  }
}

function sharedBuffer(): SharedArrayBuffer {
  if (!isMainThread) return getEnvironmentData(KEY) as unknown as SharedArrayBuffer
  const buffer = new SharedArrayBuffer(BYTES)
  setEnvironmentData(KEY, buffer)
  return buffer
}

export const memory = new SharedMemory(sharedBuffer())
