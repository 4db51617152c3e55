import { closeSync, ftruncateSync, openSync, writeFileSync } from 'node:fs'
import { unwritableFile } from '../formats/file-errors.js'
import { sharedClock } from './trace-ring.js'

type Arguments = Readonly<Record<string, unknown>>

/** All rows belong to one process: a job's. */
const PROCESS = 1

/**
 * A trace in Chrome's format, for Perfetto or chrome://tracing: one row an actor. Events go to the file whole lines at a time; where the process is
 * killed the closing bracket is missing, which both take. See "Trace Event Format", Google.
 */
export class TraceFile {
  readonly #path: string
  readonly #file: number
  readonly #began = sharedClock()
  readonly #rows = new Map<string, number>()
  #lines: string[] = []
  /** Bytes of whole lines in the file. */
  #length = 2
  #closed = false

  /** Throws WRITE_FAILED. */
  constructor(path: string, title: string) {
    this.#path = path
    this.#file = this.#guard(() => openSync(path, 'w'))
    try {
      this.#guard(() => writeFileSync(this.#file, '[\n'))
    } catch (error) {
      closeSync(this.#file)
      throw error
    }
    this.#meta('process_name', 0, title)
  }

  /** Something that took from `start` to `end`, milliseconds of the shared clock. Spans of a row nest, or do not touch. */
  span(row: string, name: string, { start, end, ...rest }: { start: number; end: number; args?: Arguments }): void {
    this.#add({ ph: 'X', name, tid: this.#row(row), ts: this.#time(start), dur: microseconds(end - start), ...rest })
  }

  /** Something that happened just now. */
  instant(row: string, name: string, args: Arguments): void {
    this.#add({ ph: 'i', s: 'p', name, tid: this.#row(row), ts: this.#time(sharedClock()), args })
  }

  /** Figures over time, drawn as a curve. */
  counter(name: string, args: Readonly<Record<string, number>>): void {
    this.#add({ ph: 'C', name, tid: 0, ts: this.#time(sharedClock()), args })
  }

  /** What has been told so far is in the file. */
  flush(): void {
    if (this.#lines.length === 0 || this.#closed) return
    const text = this.#lines.join('')
    this.#lines = []
    this.#write(text)
  }

  close(): void {
    this.flush()
    if (this.#closed) return
    // The last event has no comma behind it.
    const end = { ph: 'i', s: 'p', name: 'end', pid: PROCESS, tid: 0, ts: this.#time(sharedClock()) }
    this.#write(`${JSON.stringify(end)}\n]\n`)
    this.#end()
  }

  /** A run is not lost for its trace: where the disk is full that ends, with a warning. */
  #write(text: string): void {
    try {
      this.#guard(() => writeFileSync(this.#file, text))
      this.#length += Buffer.byteLength(text)
    } catch (error) {
      process.emitWarning(error as Error)
      this.#dropPart()
      this.#end()
    }
  }

  /** What there was room for of the last line is none. */
  #dropPart(): void {
    try {
      ftruncateSync(this.#file, this.#length)
    } catch {
      // A pipe has no length, and its reader is gone.
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
    this.#meta('thread_name', row, name)
    return row
  }

  #meta(what: 'process_name' | 'thread_name', tid: number, name: string): void {
    this.#add({ ph: 'M', name: what, tid, args: { name } })
  }

  #add(event: Arguments): void {
    if (!this.#closed) this.#lines.push(`${JSON.stringify({ pid: PROCESS, ...event })},\n`)
  }

  #time(clock: number): number {
    return microseconds(clock - this.#began)
  }

  #guard<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw unwritableFile(this.#path, error)
    }
  }
}

/** To a nanosecond. */
function microseconds(milliseconds: number): number {
  return Math.round(1e6 * milliseconds) / 1e3
}
