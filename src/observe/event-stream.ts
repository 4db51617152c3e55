/** How many events wait for a slow reader. */
const MOST_WAITING = 1024

interface Reader<T> {
  readonly waiting: T[]
  /** Whoever asked for an event that is still to come: a reader may ask for several at once. */
  wake: (() => void)[]
}

type End = { readonly error?: unknown }

/**
 * Events for any number of readers, each at its own pace; one who comes late sees what is still to come. For a reader who lags far
 * behind the oldest events are dropped; the end always arrives.
 */
export class EventStream<T> implements AsyncIterable<T> {
  readonly #readers = new Set<Reader<T>>()
  #end: End | undefined

  push(event: T): void {
    for (const reader of this.#readers) {
      if (reader.waiting.push(event) > MOST_WAITING) reader.waiting.shift()
      wake(reader)
    }
  }

  /** Readers end once they have read what waits for them; with an error they throw it then. */
  end(end: End = {}): void {
    this.#end = end
    for (const reader of this.#readers) wake(reader)
  }

  /** Reads from this call on, not from the first `next`. */
  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    const reader: Reader<T> = { waiting: [], wake: [] }
    this.#readers.add(reader)
    return this.#read(reader)
  }

  #read(reader: Reader<T>): AsyncIterator<T, undefined> {
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
    return { next, return: () => Promise.resolve(close()) }
  }
}

function wake<T>(reader: Reader<T>): void {
  for (const resolve of reader.wake.splice(0)) resolve()
}
