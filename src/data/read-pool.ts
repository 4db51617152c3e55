import { Piscina } from 'piscina'
import { ArbalestError, messageOf } from '../errors.js'
import type { BadSample, ReadTask } from './read-task.js'

/** A task is tried so often: what ends a thread may end the next one too. */
const TRIES = 3

/**
 * Threads that make samples. A thread that dies is replaced, and its task given to another. They share nothing but the memory that they
 * write to, so it does not matter which of them makes what.
 */
export class ReadPool implements AsyncDisposable {
  readonly #pool: Piscina<ReadTask, readonly BadSample[]>

  constructor({ threads }: { readonly threads: number }) {
    this.#pool = new Piscina({
      filename: new URL('./read-task.js', import.meta.url).href,
      minThreads: threads,
      maxThreads: threads,
      recordTiming: false
    })
    // Of a thread that died between two tasks: another is there already.
    this.#pool.on('error', () => {})
  }

  /** Samples that could not be made. Rejects with DATA_CORRUPT where thread after thread died of the task. */
  async read(task: ReadTask): Promise<readonly BadSample[]> {
    let last: unknown
    for (let tries = 0; tries < TRIES; tries++) {
      try {
        return await this.#pool.run(task)
      } catch (error) {
        last = error
      }
    }
    const message = `samples: ${task.items.length} from ${task.items[0]} on could not be made in ${TRIES} tries (${messageOf(last)}); mend or leave them out`
    throw new ArbalestError('DATA_CORRUPT', message, { cause: last, data: { items: task.items } })
  }

  /** Ends the threads, in the middle of their work. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
