import { getHeapStatistics } from 'node:v8'
import { threadId } from 'node:worker_threads'
import { Fifo } from './fifo.js'

/** The counters of one actor, each a float64 in shared memory. Only the actor's thread writes; any thread reads. */
export interface MeterReading {
  /** The thread of the current incarnation: 0 is the process's first. */
  readonly thread: number
  /** Messages that arrived (those lost with an earlier incarnation excluded), whose turn began, and that are done. */
  readonly arrived: number
  readonly begun: number
  readonly handled: number
  /** The messages that `waited` and `busy` stand for: those that were timed and the untimed ones between them. */
  readonly timed: number
  /** Milliseconds from arrival to turn, summed over `timed`. */
  readonly waited: number
  /** Milliseconds of turns, awaited promises included, summed over `timed`. */
  readonly busy: number
  /** Deferred replies that have not been sent. */
  readonly deferred: number
  /** Bytes of the JavaScript heap and of buffers in the actor's thread, when they were last measured. */
  readonly heap: number
}

const [THREAD, ARRIVED, BEGUN, HANDLED, TIMED, WAITED, BUSY, HEAP, DEFERRED, SLOTS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const

/** A local binding: the global is looked up at each use. */
const clock = performance
/** Reading the clock costs more than a small message: of turns shorter than SHORT_TURN milliseconds, one in STRIDE is timed. */
const SHORT_TURN = 0.02
const STRIDE = 128
/** Milliseconds between two measurements of the heap. */
const HEAP_EVERY = 500

interface Timed {
  readonly number: number
  readonly arrival: number
  /** The messages that it stands for: itself, and those before it that are not timed. */
  readonly weight: number
}

/**
 * Counts the messages of one incarnation, in memory that all incarnations of the actor share. Other threads read it without asking the
 * actor.
 */
export class ActorMeter {
  readonly #slots: Float64Array
  /** The messages to be timed whose turn has not come, in the order in which they arrived and will be handled. */
  readonly #coming = new Fifo<Timed>()
  #arrived: number
  #begun: number
  #handled: number
  /** The number of the next message to be timed; 0 if there is none. */
  #next = 0
  #arrival = 0
  #weight = 0
  /** Of the current turn, if it is timed. */
  #began = 0
  #weightOfTurn = 0
  /** The number of the last message that was to be timed when it arrived. */
  #lastTimed: number
  #stride = 1
  #untilTimed = 1
  #heapMeasured = -Infinity

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(SLOTS * Float64Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#slots = new Float64Array(memory)
    this.#slots[THREAD] = threadId
    // The messages that the previous incarnation did not finish are lost.
    this.#arrived = this.#begun = this.#handled = this.#lastTimed = this.#slots[HANDLED]!
    this.#slots[ARRIVED] = this.#slots[BEGUN] = this.#handled
    this.#slots[DEFERRED] = 0
    this.#measureHeap(clock.now())
  }

  /** A message has arrived. */
  arrive(): void {
    this.#slots[ARRIVED] = ++this.#arrived
    if (--this.#untilTimed > 0) return
    this.#untilTimed = this.#stride
    const timed = { number: this.#arrived, arrival: clock.now(), weight: this.#arrived - this.#lastTimed }
    this.#lastTimed = this.#arrived
    if (this.#next === 0) this.#expect(timed)
    else this.#coming.push(timed)
  }

  /** The turn of the oldest message begins. */
  begin(): void {
    this.#slots[BEGUN] = ++this.#begun
    if (this.#begun !== this.#next) return
    this.#began = clock.now()
    this.#slots[WAITED]! += (this.#began - this.#arrival) * this.#weight
    this.#weightOfTurn = this.#weight
    this.#expect(this.#coming.shift())
  }

  /** The turn is over. */
  end(): void {
    this.#slots[HANDLED] = ++this.#handled
    if (this.#began === 0) return
    const now = clock.now()
    const turn = now - this.#began
    this.#began = 0
    this.#slots[BUSY]! += turn * this.#weightOfTurn
    this.#slots[TIMED]! += this.#weightOfTurn
    this.#stride = turn < SHORT_TURN ? STRIDE : 1
    // The next message was put off when this one arrived: turns were short then.
    if (this.#stride === 1) this.#untilTimed = 1
    if (now - this.#heapMeasured >= HEAP_EVERY) this.#measureHeap(now)
  }

  /** A reply is deferred beyond the end of its turn. */
  deferReply(): void {
    this.#slots[DEFERRED]!++
  }

  /** A deferred reply has been sent. */
  sendDeferred(): void {
    this.#slots[DEFERRED]!--
  }

  #expect(timed: Timed | undefined): void {
    this.#next = timed ? timed.number : 0
    this.#arrival = timed ? timed.arrival : 0
    this.#weight = timed ? timed.weight : 0
  }

  #measureHeap(now: number): void {
    this.#heapMeasured = now
    const { used_heap_size: used, external_memory: external } = getHeapStatistics()
    this.#slots[HEAP] = used + external
  }
}

export function readActorMeter(memory: SharedArrayBuffer): MeterReading {
  const slots = new Float64Array(memory)
  return {
    thread: slots[THREAD]!,
    arrived: slots[ARRIVED]!,
    begun: slots[BEGUN]!,
    handled: slots[HANDLED]!,
    timed: slots[TIMED]!,
    waited: slots[WAITED]!,
    busy: slots[BUSY]!,
    deferred: slots[DEFERRED]!,
    heap: slots[HEAP]!
  }
}
