const BEATS = 0
const STEPS = 1

/**
 * A learner's sign of life in memory that its supervisor reads at any time, also where the learner's thread answers nobody. It beats with
 * every step, and while the learner waits for others; the counts wrap around.
 */
export class Pulse {
  readonly memory: SharedArrayBuffer
  readonly #counts: Int32Array

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(8)) {
    this.memory = memory
    this.#counts = new Int32Array(memory)
  }

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
