import { getHeapStatistics } from 'node:v8'
import { threadId } from 'node:worker_threads'
import { Fifo } from './fifo.js'

/** What a meter counts, each a float64 of its memory. Only the actor's thread writes; a slot is read whole in any thread. */
export interface MeterReading {
  /** The thread of its life: 0 is the process's first. */
  readonly thread: number
  /** Messages that came and were not lost with an earlier life; those of them whose turn came; those that are done. */
  readonly arrived: number
  readonly begun: number
  readonly handled: number
  /** Messages that `waited` and `busy` stand for: those that were timed, and the many alike between them. */
  readonly timed: number
  /** Milliseconds from arrival to turn, summed over `timed`. */
  readonly waited: number
  /** Milliseconds of turns, awaited promises included, summed over `timed`. */
  readonly busy: number
  /** Answers that will come later than at the end of their turn. */
  readonly promised: number
  /** Bytes of the JavaScript heap and of buffers in the actor's thread when it was last looked at. */
  readonly heap: number
}

const [THREAD, ARRIVED, BEGUN, HANDLED, TIMED, WAITED, BUSY, HEAP, PROMISED, SLOTS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const

/** The global itself is looked up anew at each use. */
const clock = performance
/** Reading the clock costs more than a small message: of turns shorter than so many milliseconds only one in STRIDE is timed. */
const SHORT_TURN = 0.02
const STRIDE = 128
const HEAP_EVERY = 500

interface Timed {
  readonly number: number
  readonly arrival: number
}

/** Counts the messages of one life in memory that its actor's lives share, so that others can look without asking it. */
export class Meter {
  readonly #slots: Float64Array
  /** Those that will be timed and whose turn has not come; messages are handled in the order in which they come. */
  readonly #coming = new Fifo<Timed>()
  #arrived: number
  #begun: number
  #handled: number
  /** The next of them by its number; 0 where none is coming. */
  #next = 0
  #arrival = 0
  #began = 0
  #stride = 1
  #untilTimed = 1
  #heapLooked = -Infinity

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(SLOTS * Float64Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#slots = new Float64Array(memory)
    this.#slots[THREAD] = threadId
    // What the life before did not finish is lost.
    this.#arrived = this.#begun = this.#handled = this.#slots[HANDLED]!
    this.#slots[ARRIVED] = this.#slots[BEGUN] = this.#handled
    this.#slots[PROMISED] = 0
    this.#lookAtHeap(clock.now())
  }

  /** A message has come. */
  arrive(): void {
    this.#slots[ARRIVED] = ++this.#arrived
    if (--this.#untilTimed > 0) return
    this.#untilTimed = this.#stride
    const timed = { number: this.#arrived, arrival: clock.now() }
    if (this.#next === 0) this.#expect(timed)
    else this.#coming.push(timed)
  }

  /** The turn of the oldest has come. */
  begin(): void {
    this.#slots[BEGUN] = ++this.#begun
    if (this.#begun !== this.#next) return
    this.#began = clock.now()
    this.#slots[WAITED]! += (this.#began - this.#arrival) * this.#stride
    this.#expect(this.#coming.shift())
  }

  /** It is done. */
  end(): void {
    this.#slots[HANDLED] = ++this.#handled
    if (this.#began === 0) return
    const now = clock.now()
    const turn = now - this.#began
    this.#began = 0
    this.#slots[BUSY]! += turn * this.#stride
    this.#slots[TIMED]! += this.#stride
    this.#stride = turn < SHORT_TURN ? STRIDE : 1
    if (now - this.#heapLooked >= HEAP_EVERY) this.#lookAtHeap(now)
  }

  /** An answer will come later. */
  promise(): void {
    this.#slots[PROMISED]!++
  }

  /** It has come. */
  keep(): void {
    this.#slots[PROMISED]!--
  }

  #expect(timed: Timed | undefined): void {
    this.#next = timed ? timed.number : 0
    this.#arrival = timed ? timed.arrival : 0
  }

  #lookAtHeap(now: number): void {
    this.#heapLooked = now
    const { used_heap_size: used, external_memory: external } = getHeapStatistics()
    this.#slots[HEAP] = used + external
  }
}

export function readMeter(memory: SharedArrayBuffer): MeterReading {
  const slots = new Float64Array(memory)
  return {
    thread: slots[THREAD]!,
    arrived: slots[ARRIVED]!,
    begun: slots[BEGUN]!,
    handled: slots[HANDLED]!,
    timed: slots[TIMED]!,
    waited: slots[WAITED]!,
    busy: slots[BUSY]!,
    promised: slots[PROMISED]!,
    heap: slots[HEAP]!
  }
}
