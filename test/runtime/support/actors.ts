import { setTimeout as sleep } from 'node:timers/promises'
import { ArbalestError } from '../../../src/errors.js'
import { DeferredReply } from '../../../src/runtime/actor.js'
import type { ActorContext } from '../../../src/runtime/context.js'
import { heap } from './heap.js'

/** Records the messages that it handles, and when each began and ended. */
export class Recorder {
  readonly #log: string[] = []
  readonly #context: ActorContext<Recorder>
  #turns = 0

  constructor(_options: object, context: ActorContext<Recorder>) {
    this.#context = context
  }

  note(text: string): void {
    this.#log.push(text)
  }

  async slowly(text: string, milliseconds: number): Promise<string> {
    this.#log.push(`${text} begins`)
    await sleep(milliseconds)
    this.#log.push(`${text} ends`)
    return text
  }

  log(): readonly string[] {
    return this.#log
  }

  /** Computes for so many milliseconds. */
  compute(milliseconds: number): void {
    const end = performance.now() + milliseconds
    while (performance.now() < end);
  }

  /** Keeps itself busy with messages to itself for ever. */
  turn(): void {
    this.#turns++
    this.#context.self.tell.turn()
  }

  turns(): number {
    return this.#turns
  }

  /** Answers once `open` has been handled; other messages are handled meanwhile. */
  wait(): DeferredReply<string> {
    return new DeferredReply(new Promise((resolve) => (this.#open = resolve)))
  }

  open(answer: string): void {
    this.#open?.(answer)
  }

  #open: ((answer: string) => void) | undefined
}

/** Throws whatever is asked of it. */
function hostile(): Error {
  const get = () => {
    throw new Error('trap')
  }
  return new Proxy({}, { get, getPrototypeOf: get }) as Error
}

export interface FaultyOptions {
  readonly failToStart?: boolean
  /** Counted up by the `stopping` hook. */
  readonly stops?: SharedArrayBuffer
  /** Milliseconds. */
  readonly startTakes?: number
  /** The code with which the start ends the process of its thread. */
  readonly exitsWith?: number
  readonly startNeverEnds?: boolean
}

/** Fails in every way that an actor can. */
export class Faulty {
  readonly #options: FaultyOptions

  constructor(options: FaultyOptions) {
    this.#options = options
  }

  async started(): Promise<void> {
    await sleep(this.#options.startTakes ?? 0)
    if (this.#options.exitsWith !== undefined) process.exit(this.#options.exitsWith)
    if (this.#options.startNeverEnds) await new Promise(() => {})
    if (this.#options.failToStart) throw new ArbalestError('INVALID_STATE', 'faulty: told to fail', { data: { reason: 'test' } })
  }

  stopping(): void {
    if (this.#options.stops) Atomics.add(new Int32Array(this.#options.stops), 0, 1)
  }

  count(memory: SharedArrayBuffer): void {
    Atomics.add(new Int32Array(memory), 0, 1)
  }

  heap(): number {
    return heap()
  }

  fail(): never {
    throw new ArbalestError('DATA_CORRUPT', 'idx: broken', { data: { at: 7 }, cause: new RangeError('too far') })
  }

  async failLater(): Promise<never> {
    await sleep(1)
    throw Object.assign(new TypeError('late'), { code: 'ERR_LATE' })
  }

  throwNothing(): never {
    throw { not: 'an error' }
  }

  throwHostile(): never {
    throw hostile()
  }

  async rejectHostile(): Promise<never> {
    await sleep(1)
    throw hostile()
  }

  answerHostile(): object {
    return hostile()
  }

  /** Throws outside any message. */
  throwFromTimer(): void {
    setTimeout(() => {
      throw new ArbalestError('LOSS_NOT_FINITE', 'from a timer', { data: { iteration: 3 } })
    }, 1)
  }

  rejectUnheard(): void {
    void Promise.reject(new RangeError('unheard'))
  }

  exit(code: number): void {
    process.exit(code)
  }

  /** Never returns, as native code that hangs. */
  spin(): void {
    for (;;);
  }

  /** Holds back all further messages. */
  never(): Promise<void> {
    return new Promise(() => {})
  }

  /** Is never answered, while other messages are. */
  later(): DeferredReply<void> {
    return new DeferredReply(new Promise(() => {}))
  }

  unpostable(): () => void {
    return () => {}
  }

  alive(): boolean {
    return true
  }
}
