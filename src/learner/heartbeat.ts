import { types } from 'node:util'
import { invalidOption } from '../errors.js'

const BEATS = 0
const STEPS = 1
/** Of both counts. */
const BYTES = 2 * Int32Array.BYTES_PER_ELEMENT

/**
 * A learner's heartbeat, in memory that its supervisor can read even while the learner's thread handles no messages. It beats with every
 * step, and while the learner waits for others. The counts wrap around.
 */
export class Heartbeat {
  readonly memory: SharedArrayBuffer
  readonly #counts: Int32Array

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(BYTES)) {
    if (!types.isSharedArrayBuffer(memory) || memory.byteLength < BYTES)
      throw invalidOption('memory', memory, `use a SharedArrayBuffer of ${BYTES} bytes`)
    this.memory = memory
    this.#counts = new Int32Array(memory)
  }

  /** The learner runs; `steps` more are done. */
  beat(steps: number): void {
    Atomics.add(this.#counts, BEATS, 1)
    Atomics.add(this.#counts, STEPS, steps)
  }

  get beats(): number {
    return Atomics.load(this.#counts, BEATS)
  }

  get steps(): number {
    return Atomics.load(this.#counts, STEPS)
  }
}

/** Tells a learner that has stopped from one that runs: its heartbeat has not changed for `patience` checks in a row. */
export class HeartbeatMonitor {
  readonly #heartbeat: Heartbeat
  readonly #patience: number
  #beats: number
  #unchanged = 0

  constructor(heartbeat: Heartbeat, patience: number) {
    this.#heartbeat = heartbeat
    this.#patience = patience
    this.#beats = heartbeat.beats
  }

  /**
   * Whether the heartbeat has stopped. Counts checks instead of elapsed time: a learner must not be declared dead because the whole process
   * or the supervisor's own thread was suspended.
   */
  hasStopped(): boolean {
    const { beats } = this.#heartbeat
    this.#unchanged = beats === this.#beats ? this.#unchanged + 1 : 0
    this.#beats = beats
    return this.#unchanged >= this.#patience
  }
}
