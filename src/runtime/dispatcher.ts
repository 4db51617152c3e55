import { inNextTurn } from '../node.js'
import { microtask } from './promises.js'

/** Runs the turns of one thread's actors. */
export interface Dispatcher {
  /** Runs `turn`, which must not throw, soon and never inside the call. */
  dispatch(turn: () => void): void
  /** As `dispatch`, but after the messages that have arrived from other threads meanwhile. */
  defer(turn: () => void): void
  /** The most messages that a mailbox handles in a row before other turns run. */
  readonly throughput: number
  /** A mailbox calls it after each message. Returns whether the event loop has waited for too long: the next message then has another turn. */
  handled(): boolean
}

/** Milliseconds of turns in a row after which the event loop, with its timers and ports, runs once: a message to stop comes by a port. */
const SLICE = 10
/** Reading the clock costs as much as a small message: it is read after fewer messages the longer they take, at most this many. */
const LONGEST_STRIDE = 16
/** Milliseconds between two readings below which the stride grows. */
const SHORT = 1

/** Runs the turns of a real thread as microtasks, and lets its event loop run in between. */
export class ThreadDispatcher implements Dispatcher {
  readonly throughput = 1024
  #overdue = false
  #sliceEnd = 0
  #lastRead = 0
  #stride = 1
  #untilRead = 1

  dispatch(turn: () => void): void {
    if (this.#overdue) inNextTurn(turn)
    else microtask(turn)
  }

  defer(turn: () => void): void {
    inNextTurn(turn)
  }

  handled(): boolean {
    if (this.#overdue || --this.#untilRead > 0) return this.#overdue
    const now = performance.now()
    this.#stride = now - this.#lastRead < SHORT ? Math.min(2 * this.#stride, LONGEST_STRIDE) : 1
    this.#untilRead = this.#stride
    this.#lastRead = now
    this.#overdue = now >= this.#sliceEnd
    // Before the turns that are dispatched until then.
    if (this.#overdue) inNextTurn(() => this.#beginSlice())
    return this.#overdue
  }

  #beginSlice(): void {
    this.#overdue = false
    this.#lastRead = performance.now()
    this.#sliceEnd = this.#lastRead + SLICE
  }
}
