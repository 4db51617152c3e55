import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { ArbalestError, messageOf } from '../errors.js'
import type { RunRecord } from './records.js'

/**
 * Appends a run's events to a file, one line of JSON each. A line is written whole, by one call of the system that appends: kill the process
 * when you like, the file ends with a whole line. Where another run had left less than a line, the next begins on a new one.
 */
export class RunLog implements RunRecord {
  readonly #file: number
  readonly #run: string

  /** Throws WRITE_FAILED. */
  constructor(path: string, run: string) {
    let file: number | undefined
    try {
      file = openSync(path, 'a+')
      if (!endsWhole(file)) writeSync(file, '\n')
    } catch (cause) {
      if (file !== undefined) closeSync(file)
      const message = `log: received ${JSON.stringify(path)}; it cannot be written (${messageOf(cause)}); name another file`
      throw new ArbalestError('WRITE_FAILED', message, { cause, data: { parameter: 'log', file: path } })
    }
    this.#file = file
    this.#run = run
  }

  write(event: object, seconds: number): void {
    writeSync(this.#file, `${JSON.stringify({ run: this.#run, time: seconds, ...event })}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

function endsWhole(file: number): boolean {
  const { size } = fstatSync(file)
  const last = Buffer.alloc(1)
  return size === 0 || readSync(file, last, 0, 1, size - 1) === 0 || last[0] === 0x0a
}
