/** Events kept for a reader that is slower than the run. */
const MOST_WAITING = 1024

interface Reader<T> {
  readonly waiting: T[]
  /** Calls of `next` that wait for an event: a reader may have several at once. */
  wake: (() => void)[]
}

type End = { readonly error?: unknown }

/**
 * Events for any number of readers, each at its own pace. A reader gets the events from its start on. If it lags 1024 events behind, it loses the
 * oldest event that may be missed, or the oldest of all if none may be. Every reader gets the end.
 */
export class EventStream<T> implements AsyncIterable<T> {
  readonly #readers = new Set<Reader<T>>()
  readonly #mayBeMissed: (event: T) => boolean
  #end: End | undefined

  /** `mayBeMissed`: an event of a kind of which there are many, each of which tells what the next one tells anew. */
  constructor(mayBeMissed: (event: T) => boolean = () => false) {
    this.#mayBeMissed = mayBeMissed
  }

  push(event: T): void {
    for (const reader of this.#readers) {
      const { waiting } = reader
      if (waiting.push(event) > MOST_WAITING) waiting.splice(Math.max(0, waiting.findIndex(this.#mayBeMissed)), 1)
      wake(reader)
    }
  }

  /** Each reader ends after the events that it has not read yet, and throws the error if there is one. */
  end(end: End = {}): void {
    this.#end = end
    for (const reader of this.#readers) wake(reader)
  }

  /** Gets every event after this call, also those before the first `next`. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    const reader: Reader<T> = { waiting: [], wake: [] }
    this.#readers.add(reader)
    return this.#read(reader)
  }

  #read(reader: Reader<T>): AsyncIterableIterator<T, undefined> {
    const readers = this.#readers
    const close = (): IteratorResult<T, undefined> => {
      readers.delete(reader)
      wake(reader)
      return { done: true, value: undefined }
    }
    const next = async (): Promise<IteratorResult<T, undefined>> => {
      while (readers.has(reader)) {
        if (reader.waiting.length > 0) return { done: false, value: reader.waiting.shift()! }
        if (this.#end) {
          close()
          if ('error' in this.#end) throw this.#end.error
        } else {
          await new Promise<void>((resolve) => reader.wake.push(resolve))
        }
      }
      return { done: true, value: undefined }
    }
    return {
      next,
      return: () => Promise.resolve(close()),
      // As the iterators of JavaScript have it: a program that has taken some events may loop over the others.
      [Symbol.asyncIterator]() {
        return this
      }
    }
  }
}

function wake<T>(reader: Reader<T>): void {
  for (const resolve of reader.wake.splice(0)) resolve()
}
