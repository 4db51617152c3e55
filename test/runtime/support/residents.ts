import { threadId } from 'node:worker_threads'
import type { ActorContext } from '../../../src/runtime/context.js'

/** Tells of its thread, and keeps it busy. */
export class Resident {
  readonly #context: ActorContext<Resident>
  readonly #kept: number[] = []
  #ticks = 0

  constructor(_options: object, context: ActorContext<Resident>) {
    this.#context = context
  }

  thread(): number {
    return threadId
  }

  ping(): boolean {
    return true
  }

  /** As code that checks the flag between two pieces of work. */
  async workUntilStopped(): Promise<string> {
    for (;;) {
      if (this.#context.stopRequested) return 'saw the flag'
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** As native code that its owner can cancel: it waits until the word is not 0. */
  block(word: SharedArrayBuffer): string {
    Atomics.wait(new Int32Array(word), 0, 0)
    return 'broken off'
  }

  spin(): void {
    for (;;);
  }

  fail(): never {
    throw new Error('told to fail')
  }

  failOutside(): void {
    setTimeout(() => {
      throw new Error('failed outside')
    })
  }

  /** Keeps the first number of each. */
  keep(numbers: { readonly [i: number]: number }): void {
    this.#kept.push(numbers[0]!)
  }

  /** The numbers themselves: later messages add others. */
  kept(): readonly number[] {
    return this.#kept
  }

  take(buffer: ArrayBuffer): number {
    return buffer.byteLength
  }

  tick(): void {
    this.#ticks++
  }

  ticks(): number {
    return this.#ticks
  }

  tickAfter(milliseconds: number): void {
    this.#context.after(milliseconds).tick()
  }

  tickEvery(milliseconds: number): void {
    this.#context.every(milliseconds).tick()
  }

  tickNever(milliseconds: number): void {
    this.#context.after(milliseconds).tick()()
    this.#context.every(milliseconds).tick()()
  }
}
