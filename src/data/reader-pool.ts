import type { Piscina } from 'piscina'
import { ArbalestError, messageOf } from '../errors.js'
import type { ReaderSpec } from './dataset.js'
import { unpackError } from '../runtime/errors-across-threads.js'
import type { ReadResult, ReadTask, UnreadableSample } from './reader-thread.js'

/** A task of a pool, which names the reader. */
export type PoolTask = Omit<ReadTask, 'name'>

/** How often a task is tried: a task whose thread died may end the next thread too. */
const TRIES = 3

/** Threads that libuv has for the whole process, in which image decoders run; UV_THREADPOOL_SIZE sets them before the process starts. */
const LIBUV_THREADS = 4

/**
 * The number of threads that read samples: as `requested`, otherwise one for each core, but fewer than libuv's threads, so that one of these
 * is left for file operations while the others decode images.
 */
export function readerThreads(cores: number, requested?: number): number {
  const libuv = Number(process.env['UV_THREADPOOL_SIZE']) || LIBUV_THREADS
  return requested ?? Math.max(1, Math.min(cores, libuv - 1))
}

/**
 * Threads that read samples. The pool replaces a thread that dies and gives its task to another. Threads share only the memory that they
 * write to, so the result does not depend on which thread reads which sample.
 */
export class ReaderPool implements AsyncDisposable {
  readonly #pool: Piscina<ReadTask, ReadResult>
  readonly #names = new WeakMap<ReaderSpec, string>()
  #unlike = 0
  #failure: ArbalestError | undefined

  private constructor(pool: Piscina<ReadTask, ReadResult>) {
    this.#pool = pool
    // A thread died between two tasks; the pool has already replaced it. After a replacement that could not start it tries no more, and tasks
    // would wait for ever.
    pool.on('error', (error) => {
      if (pool.threads.length > 0) return
      this.#failure ??= noThreads(error)
      void pool.destroy()
    })
  }

  /** Starts the threads. Throws LIMIT_REACHED if the system allows none. */
  static async start({ threads }: { readonly threads: number }): Promise<ReaderPool> {
    // Loaded on demand: only data sets that stream need it.
    const { Piscina } = await import('piscina')
    try {
      const pool = new Piscina<ReadTask, ReadResult>({
        filename: new URL('./reader-thread.js', import.meta.url).href,
        minThreads: threads,
        maxThreads: threads,
        recordTiming: false
      })
      return new ReaderPool(pool)
    } catch (error) {
      throw noThreads(error)
    }
  }

  /**
   * Reads samples and returns those that cannot be read. Rejects with INVALID_OPTION for a reader that cannot be used, with DATA_CORRUPT if every thread that tries the task
   * dies, and with LIMIT_REACHED if no thread is left and the system allows no other.
   */
  async read(task: PoolTask): Promise<readonly UnreadableSample[]> {
    const result = await this.#run({ ...task, name: this.#nameOf(task.reader) })
    if ('refused' in result) throw unpackError(result.refused)
    return result.unreadable
  }

  async #run(task: ReadTask): Promise<ReadResult> {
    let last: unknown
    for (let tries = 0; tries < TRIES; tries++) {
      try {
        return await this.#pool.run(task)
      } catch (error) {
        if (this.#failure) throw this.#failure
        last = error
      }
    }
    const message = `samples: ${task.items.length} from ${task.items[0]} on could not be read in ${TRIES} tries (${messageOf(last)}); repair or remove them`
    throw new ArbalestError('DATA_CORRUPT', message, { cause: last, data: { items: task.items } })
  }

  /** By which the threads know a reader: one for those of the same module, options and place. What JSON does not hold, such as shared memory, are never the same. */
  #nameOf(reader: ReaderSpec): string {
    const known = this.#names.get(reader)
    if (known !== undefined) return known
    const { module, options, place = null } = reader
    const name = isJson([options, place]) ? JSON.stringify([module, options, place]) : `${module} ${this.#unlike++}`
    this.#names.set(reader, name)
    return name
  }

  /** Ends the threads, even in the middle of a task. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function noThreads(cause: unknown): ArbalestError {
  const message = `threads: none that reads samples can start (${messageOf(cause)}); raise the system's limits of open files (ulimit -n) and of threads (ulimit -u), or use fewer learners`
  return new ArbalestError('LIMIT_REACHED', message, { cause, data: { limit: 'threads' } })
}

/** The greatest depth of options that is looked into: an object that contains itself has no end. */
const DEEPEST = 32

/** Whether a value is the same after it was written as JSON and read. */
function isJson(value: unknown, depth = DEEPEST): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth === 0) return false
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false
  return Object.values(value).every((member) => isJson(member, depth - 1))
}
