import { closeSync, ftruncateSync, writeFileSync } from 'node:fs'
import { unwritableFile, type Unwritten } from '../formats/file-errors.js'
import { openRecord } from '../formats/write-file.js'
import { sharedClock } from './trace-ring.js'

type Arguments = Readonly<Record<string, unknown>>

/** The id of the job in the file: it is the only process there. */
const PROCESS = 1
/** What the warning says is left where the trace ends early: an older file at its place has gone when it began. */
const LEFT = 'the run goes on, and the trace up to here stays'

/**
 * A trace in Chrome's format, for Perfetto or chrome://tracing, with one row per actor. Only whole lines are written. If the process is killed, the
 * file lacks its closing bracket; both viewers accept that. See "Trace Event Format", Google.
 */
export class TraceFile {
  readonly #path: string
  readonly #file: number
  readonly #began = sharedClock()
  readonly #rows = new Map<string, number>()
  #lines: string[] = []
  /** Bytes of the whole lines in the file. */
  #length = 2
  #closed = false

  /** Throws WRITE_FAILED, also for a pipe that nobody reads. */
  constructor(path: string, title: string) {
    this.#path = path
    this.#file = this.#guard(() => openRecord(path, 'w'))
    try {
      this.#guard(() => writeFileSync(this.#file, '[\n'))
    } catch (error) {
      closeSync(this.#file)
      throw error
    }
    this.#metadata('process_name', 0, title)
  }

  /** Work from `start` to `end`, in milliseconds of the shared clock. Two spans of a row nest or do not overlap. */
  span(row: string, name: string, { start, end, ...rest }: { start: number; end: number; args?: Arguments }): void {
    this.#add({ ph: 'X', name, tid: this.#row(row), ts: this.#time(start), dur: microseconds(end - start), ...rest })
  }

  /** An event at this moment. */
  instant(row: string, name: string, args: Arguments): void {
    this.#add({ ph: 'i', s: 'p', name, tid: this.#row(row), ts: this.#time(sharedClock()), args })
  }

  /** Values at this moment, drawn as curves over time. */
  counter(name: string, args: Readonly<Record<string, number>>): void {
    this.#add({ ph: 'C', name, tid: 0, ts: this.#time(sharedClock()), args })
  }

  /** Writes all events so far to the file. */
  flush(): void {
    if (this.#lines.length === 0 || this.#closed) return
    const text = this.#lines.join('')
    this.#lines = []
    this.#write(text)
  }

  close(): void {
    this.flush()
    if (this.#closed) return
    // JSON allows no comma after the last event.
    const end = { ph: 'i', s: 'p', name: 'end', pid: PROCESS, tid: 0, ts: this.#time(sharedClock()) }
    this.#write(`${JSON.stringify(end)}\n]\n`)
    this.#end()
  }

  /** A failure, such as a full disk, ends the trace with a warning, and not the run. */
  #write(text: string): void {
    try {
      this.#guard(() => writeFileSync(this.#file, text), { needed: Buffer.byteLength(text), left: LEFT })
      this.#length += Buffer.byteLength(text)
    } catch (error) {
      process.emitWarning(error as Error)
      this.#dropPartialLine()
      this.#end()
    }
  }

  /** Removes the part of a line that was written before the failure. */
  #dropPartialLine(): void {
    try {
      ftruncateSync(this.#file, this.#length)
    } catch {
      // A pipe whose reader has gone cannot be truncated.
    }
  }

  #end(): void {
    if (this.#closed) return
    this.#closed = true
    try {
      this.#guard(() => closeSync(this.#file))
    } catch (error) {
      process.emitWarning(error as Error)
    }
  }

  #row(name: string): number {
    const known = this.#rows.get(name)
    if (known !== undefined) return known
    const row = this.#rows.size + 1
    this.#rows.set(name, row)
    this.#metadata('thread_name', row, name)
    return row
  }

  #metadata(kind: 'process_name' | 'thread_name', tid: number, name: string): void {
    this.#add({ ph: 'M', name: kind, tid, args: { name } })
  }

  #add(event: Arguments): void {
    if (!this.#closed) this.#lines.push(`${JSON.stringify({ pid: PROCESS, ...event })},\n`)
  }

  #time(clock: number): number {
    return microseconds(clock - this.#began)
  }

  #guard<T>(work: () => T, unwritten?: Unwritten): T {
    try {
      return work()
    } catch (error) {
      throw unwritableFile(this.#path, error, unwritten)
    }
  }
}

/** Rounded to nanoseconds. */
function microseconds(milliseconds: number): number {
  return Math.round(1e6 * milliseconds) / 1e3
}
