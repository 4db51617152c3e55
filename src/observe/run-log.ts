import { closeSync, fstatSync, readSync, writeSync } from 'node:fs'
import { ArbalestError, messageOf } from '../errors.js'
import { unwritableFile } from '../formats/file-errors.js'
import { appendAll, openRecord } from '../formats/write-file.js'
import type { EventSink } from './sinks.js'

/** What the error says is left where a record cannot be written any further. */
const LEFT = 'the run goes on, and what is there stays'

/**
 * Appends a run's events to a file, one line of JSON each. Each line is appended by a single system call, so that the file ends with a whole line
 * even if the process is killed. If the file does not end with a newline, the first event begins on a new line.
 */
export class RunLog implements EventSink {
  readonly #path: string
  readonly #file: number
  readonly #run: string

  /** Throws WRITE_FAILED, also for a pipe that nobody reads. */
  constructor(path: string, run: string) {
    let file: number | undefined
    try {
      file = openRecord(path, 'a+')
      if (!endsWithNewline(file)) writeSync(file, '\n')
    } catch (cause) {
      if (file !== undefined) closeSync(file)
      const message = `log: received ${JSON.stringify(path)}; it cannot be written (${messageOf(cause)}); name a file in a folder that exists, and that you may write to`
      throw new ArbalestError('WRITE_FAILED', message, { cause, data: { parameter: 'log', file: path } })
    }
    this.#path = path
    this.#file = file
    this.#run = run
  }

  /** Throws WRITE_FAILED. */
  write(event: object, seconds: number): void {
    const line = Buffer.from(`${JSON.stringify({ run: this.#run, time: seconds, ...event })}\n`)
    try {
      appendAll(this.#file, line)
    } catch (cause) {
      throw unwritableFile(this.#path, cause, { needed: line.length, left: LEFT })
    }
  }

  close(): void {
    closeSync(this.#file)
  }
}

function endsWithNewline(file: number): boolean {
  const { size } = fstatSync(file)
  const last = Buffer.alloc(1)
  return size === 0 || readSync(file, last, 0, 1, size - 1) === 0 || last[0] === 0x0a
}
