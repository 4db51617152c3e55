import { ArbalestError, invalidOption } from '../../errors.js'
import { checkMilliseconds, type VirtualClock } from '../clock.js'
import type { Dispatcher } from '../dispatcher.js'

/** Real milliseconds after which waiting for a promise that never settles fails. */
const REAL_DEADLINE = 10_000

/** Runs the turns of actors one by one, in an order that the seed decides, and advances their virtual time. */
export class SeededDispatcher implements Dispatcher {
  readonly throughput = 1
  readonly #clock: VirtualClock
  readonly #random: () => number
  readonly #turns: (() => void)[] = []

  constructor(clock: VirtualClock, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  dispatch(turn: () => void): void {
    this.#turns.push(turn)
  }

  defer(turn: () => void): void {
    this.#turns.push(turn)
  }

  /** Time stands still during a turn. */
  handled(): boolean {
    return false
  }

  /** Runs turns until none is left; time stands still. */
  async settle(): Promise<void> {
    await eventLoop()
    while (this.#turns.length > 0) {
      this.#runOne()
      await eventLoop()
    }
  }

  /** Advances time by this many milliseconds and runs all that falls due meanwhile. */
  async advance(milliseconds: number): Promise<void> {
    // A clock that is set to NaN would stay NaN.
    checkMilliseconds('milliseconds', milliseconds)
    const end = this.#clock.now() + milliseconds
    await this.settle()
    while (this.#clock.ring(end)) await this.settle()
  }

  /** Runs turns until `promise` settles, without advancing time. Settles as `promise` does. */
  until<T>(promise: Promise<T>): Promise<T> {
    return this.#drive(promise, false)
  }

  /** Runs turns until `promise` settles, and advances time whenever no turn is left. Settles as `promise` does. */
  run<T>(promise: Promise<T>): Promise<T> {
    return this.#drive(promise, true)
  }

  async #drive<T>(promise: Promise<T>, advancing: boolean): Promise<T> {
    if (typeof (promise as Partial<Promise<T>> | null)?.then !== 'function') throw invalidOption('promise', promise, 'use a promise')
    const state = { settled: false }
    const mark = () => void (state.settled = true)
    promise.then(mark, mark)
    const began = performance.now()
    for (await eventLoop(); !state.settled; await eventLoop()) {
      if (this.#turns.length > 0) this.#runOne()
      else if (advancing) this.#clock.ring()
      if (performance.now() - began > REAL_DEADLINE) {
        const message = `the promise: not settled within ${REAL_DEADLINE} ms and no actor has a turn; advance the time that it waits for`
        throw new ArbalestError('DEADLINE_EXCEEDED', message)
      }
    }
    return promise
  }

  #runOne(): void {
    const [turn] = this.#turns.splice(Math.floor(this.#random() * this.#turns.length), 1)
    turn?.()
  }
}

/** After this, every promise that can settle without a turn has settled. */
function eventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Random numbers in [0, 1) that depend on the seed alone (mulberry32). For tests, which need no better distribution. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
