import { types } from 'node:util'
import { invalidOption } from '../errors.js'

/** Of the count of steps, in bytes. */
const STEPS = 8
const BYTES = 16

/**
 * A learner's heartbeat, in memory that its supervisor can read even while the learner's thread handles no messages. It beats with every
 * step, and while the learner waits for others.
 */
export class Heartbeat {
  readonly memory: SharedArrayBuffer
  /** They wrap around: what counts is that they change. */
  readonly #beats: Int32Array
  /** A learner of a small model makes more steps in a day than 32 bits hold. */
  readonly #steps: BigInt64Array

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(BYTES)) {
    if (!types.isSharedArrayBuffer(memory) || memory.byteLength < BYTES)
      throw invalidOption('memory', memory, `use a SharedArrayBuffer of ${BYTES} bytes`)
    this.memory = memory
    this.#beats = new Int32Array(memory, 0, 1)
    this.#steps = new BigInt64Array(memory, STEPS, 1)
  }

  /** The learner runs; `steps` more are done. */
  beat(steps: number): void {
    Atomics.add(this.#beats, 0, 1)
    Atomics.add(this.#steps, 0, BigInt(steps))
  }

  get beats(): number {
    return Atomics.load(this.#beats, 0)
  }

  get steps(): number {
    return Number(Atomics.load(this.#steps, 0))
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
