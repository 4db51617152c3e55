import { ArbalestError } from '../../errors.js'
import type { VirtualClock } from '../clock.js'

/** Real milliseconds after which a test that waits for what never comes is told so. */
const PATIENCE = 10_000

/** Lets actors have their turns one by one, in an order that the seed decides, and moves their time. */
export class Scheduler {
  readonly #clock: VirtualClock
  readonly #random: () => number
  readonly #turns: (() => void)[] = []

  constructor(clock: VirtualClock, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  add(turn: () => void): void {
    this.#turns.push(turn)
  }

  /** Until nobody has a turn to take; time stands still. */
  async settle(): Promise<void> {
    await eventLoop()
    while (this.#turns.length > 0) {
      this.#step()
      await eventLoop()
    }
  }

  /** Moves time on by so many milliseconds, with all that falls due meanwhile. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#clock.now() + milliseconds
    await this.settle()
    while (this.#clock.ring(end)) await this.settle()
  }

  /** Until `promise` settles, without moving time: what it gives, or its error. */
  until<T>(promise: Promise<T>): Promise<T> {
    return this.#drive(promise, false)
  }

  /** Until `promise` settles, moving time on whenever nobody has a turn to take. */
  run<T>(promise: Promise<T>): Promise<T> {
    return this.#drive(promise, true)
  }

  async #drive<T>(promise: Promise<T>, moving: boolean): Promise<T> {
    const state = { settled: false }
    const mark = () => void (state.settled = true)
    promise.then(mark, mark)
    const began = performance.now()
    for (await eventLoop(); !state.settled; await eventLoop()) {
      if (this.#turns.length > 0) this.#step()
      else if (moving) this.#clock.ring()
      if (performance.now() - began > PATIENCE) {
        const message = `the promise: not settled within ${PATIENCE} ms and nobody has a turn to take; advance the time that it waits for`
        throw new ArbalestError('DEADLINE_EXCEEDED', message)
      }
    }
    return promise
  }

  #step(): void {
    const [turn] = this.#turns.splice(Math.floor(this.#random() * this.#turns.length), 1)
    turn?.()
  }
}

/** All promises that can settle have settled then. */
function eventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
