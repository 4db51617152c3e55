import { stat, type FileHandle } from 'node:fs/promises'
import { LineSplitter } from '../observe/line-splitter.js'
import { logsOf } from '../observe/read-runs.js'
import { parsedLine } from '../observe/runs-of-log.js'
import { openFile } from '../node.js'
import { RunBoard } from './run-board.js'
import type { DashboardSource } from './dashboard.js'

/** Bytes that are read at a time. */
const CHUNK = 2 ** 18
/** The newest runs of a folder that are shown, and kept: a folder may have thousands. */
const MOST_RUNS = 64
/** Milliseconds between two looks for new files, and at those that have not been written lately. */
const FILES_EVERY = 2_000
/** Seconds without an event after which a run without an end counts as interrupted. */
const SILENCE = 60

/** A log that is read as far as it goes, and on as it grows. */
interface FollowedLog {
  readonly path: string
  position: number
  lines: LineSplitter
  /** Nothing has been written to it for a while. */
  isQuiet: boolean
}

interface FollowedRun {
  readonly board: RunBoard
  /** The log that has told of it last, and the time of that event. */
  log: FollowedLog
  last: number
}

/** The runs of a log, or of all logs of a folder: those that are over, and those that still write. */
export class LogFollower implements DashboardSource {
  readonly #path: string
  readonly #logs = new Map<string, FollowedLog>()
  readonly #boards = new Map<string, FollowedRun>()
  #lookedForFiles = -Infinity

  private constructor(path: string) {
    this.#path = path
  }

  /** Reads what there is. Throws DATA_NOT_FOUND. */
  static async open(path: string): Promise<LogFollower> {
    const follower = new LogFollower(path)
    await follower.#findFiles()
    await follower.look()
    return follower
  }

  get boards(): readonly RunBoard[] {
    const all = [...this.#boards.values()].map(({ board }) => board)
    return all.toSorted((a, b) => a.facts.began - b.facts.began)
  }

  async look(): Promise<void> {
    const looksForFiles = performance.now() - this.#lookedForFiles > FILES_EVERY
    if (looksForFiles) await this.#findFiles().catch(() => {})
    for (const log of this.#logs.values()) if (looksForFiles || !log.isQuiet) await this.#readOn(log).catch(() => {})
    const now = Date.now() / 1000
    for (const { board, last } of this.#boards.values()) if (now - last > SILENCE) board.interrupt()
  }

  async #findFiles(): Promise<void> {
    this.#lookedForFiles = performance.now()
    for (const path of await logsOf(this.#path))
      if (!this.#logs.has(path)) this.#logs.set(path, { path, position: 0, lines: new LineSplitter(), isQuiet: false })
  }

  async #readOn(log: FollowedLog): Promise<void> {
    const { size, mtimeMs } = await stat(log.path)
    log.isQuiet = Date.now() - mtimeMs > 1_000 * SILENCE
    if (size === log.position) return
    await using file = await openFile(log.path, 'r')
    // A file that has become shorter is another one.
    if (size < log.position) Object.assign(log, { position: 0, lines: new LineSplitter() })
    while (log.position < size) {
      const text = await this.#chunk(file, log)
      if (text === '') return
      for (const line of log.lines.push(text)) this.#take(line, log)
    }
  }

  async #chunk(file: FileHandle, log: FollowedLog): Promise<string> {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK), 0, CHUNK, log.position)
    log.position += bytesRead
    // A character may lie across two chunks: events are written as ASCII but for names, where a wrong one does no harm.
    return buffer.toString('utf8', 0, bytesRead)
  }

  /** Keeps the newest runs: a new one replaces the oldest, unless it is older itself. */
  #follow(run: string, { began, log }: { readonly began: number; readonly log: FollowedLog }): void {
    if (this.#boards.size >= MOST_RUNS) {
      const [oldest, { board }] = [...this.#boards].reduce((a, b) => (b[1].board.facts.began < a[1].board.facts.began ? b : a))
      if (began < board.facts.began) return
      this.#boards.delete(oldest)
    }
    this.#boards.set(run, { board: new RunBoard(run, { name: run, began, isLive: false }), log, last: began })
  }

  #take(text: string, log: FollowedLog): void {
    const line = parsedLine(text)
    if (!line) return
    const { run, time, ...event } = line
    if (event.event === 'run' && !this.#boards.has(run)) this.#follow(run, { began: time, log })
    const known = this.#boards.get(run)
    // Another log has a run too if it is a copy, a new name for the same file, or the run's second log.
    if (!known || (known.log !== log && time <= known.last)) return
    Object.assign(known, { log, last: time })
    try {
      known.board.take(event, time)
    } catch {
      // The line was written by another version or another program: what it lacks is not shown.
    }
  }
}
