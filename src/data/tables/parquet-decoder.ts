import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../../errors.js'
import type { ParquetAnswer, ParquetRequest } from './parquet-process.js'

/** Memory of the process, in which a column of a row group is decoded. */
export const MEGABYTES = 1024

/** How long the process waits for another file. */
const IDLE_MILLISECONDS = 2000

const PROGRAM = fileURLToPath(new URL('./parquet-process.js', import.meta.url))

/** Why a request has no answer: it took too long, or the process ended, by a signal if memory did not suffice. */
export class NoAnswer extends Error {
  readonly reason: 'time' | 'memory' | 'process'

  constructor(reason: NoAnswer['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * Decodes Parquet in a process of its own, which starts with the first request and does not keep this one from ending. A few damaged bytes can ask for any amount of memory, and
 * what does not fit into the heap of a thread ends its whole process: V8 has no error for an array that cannot grow.
 */
export class ParquetDecoder {
  #child: ChildProcess | undefined
  #idle: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()

  /** One request after the other. Rejects with NoAnswer. */
  ask(request: ParquetRequest, milliseconds: number): Promise<ParquetAnswer> {
    const answer = this.#last.then(() => this.#ask(request, milliseconds))
    this.#last = answer.catch(() => {})
    return answer
  }

  async #ask(request: ParquetRequest, milliseconds: number): Promise<ParquetAnswer> {
    clearTimeout(this.#idle)
    const child = (this.#child ??= this.#start())
    setReferenced(child, true)
    const settled = new AbortController()
    const { signal } = settled
    const answer = once(child, 'message', { signal }).then(([message]) => message as ParquetAnswer)
    const late = sleep(milliseconds, undefined, { signal }).then(() => {
      throw new NoAnswer('time', `no answer within ${milliseconds / 1000} s`)
    })
    try {
      child.send(request, () => {}) // that it cannot be sent is seen by the end of the process
      return await Promise.race([answer, ended(child, signal), late])
    } catch (error) {
      this.#end()
      throw error instanceof NoAnswer ? error : new NoAnswer('process', messageOf(error))
    } finally {
      settled.abort()
      setReferenced(child, false)
      this.#idle = setTimeout(() => this.#end(), IDLE_MILLISECONDS).unref()
    }
  }

  #start(): ChildProcess {
    const child = fork(PROGRAM, {
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${MEGABYTES}`],
      // What this process loads at its start is no part of the decoder's.
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc']
    })
    child.on('error', () => {})
    child.on('exit', () => {
      if (this.#child === child) this.#child = undefined
    })
    return child
  }

  #end(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }
}

/** Rejects when the process ends. */
async function ended(child: ChildProcess, signal: AbortSignal): Promise<never> {
  const [status, killed] = (await once(child, 'exit', { signal })) as [number | null, NodeJS.Signals | null]
  // V8 ends a process whose heap is full by a signal, and the system one that takes too much.
  if (killed) throw new NoAnswer('memory', `the process that decodes it ended by ${killed}`)
  throw new NoAnswer('process', `the process that decodes it ended with status ${status}`)
}

/** Whether this process waits for the other one before it ends. */
function setReferenced(child: ChildProcess, isReferenced: boolean): void {
  if (isReferenced) child.ref()
  else child.unref()
  const channel = child.channel as { ref(): void; unref(): void } | null | undefined
  if (isReferenced) channel?.ref()
  else channel?.unref()
}
