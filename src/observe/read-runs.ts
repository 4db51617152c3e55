import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ArbalestError } from '../errors.js'
import type { EvaluatedEvent, FinishedEvent, ProgressEvent, StartedEvent } from './events.js'
import type { FailedEvent, RecordedEvent, RunEvent } from './records.js'

/** A run as its log tells it. */
export interface RecordedRun {
  readonly run: string
  readonly file: string
  /** Seconds since 1970 of its first and of its last line. */
  readonly from: number
  readonly until: number
  readonly options: Readonly<Record<string, unknown>>
  readonly versions: RunEvent['versions']
  /** Absent where it ended before its first step. */
  readonly started: StartedEvent | undefined
  readonly progress: readonly ProgressEvent[]
  readonly evaluated: readonly EvaluatedEvent[]
  /** Absent while it runs, and where it was killed. */
  readonly end: FinishedEvent | FailedEvent | undefined
}

/**
 * The runs of logs, the oldest first: of a file, or of every `*.jsonl` of a folder. Lines that are no whole events are passed over: a
 * machine that lost its power may have left one. Throws DATA_NOT_FOUND.
 */
export async function readRuns(path: string): Promise<RecordedRun[]> {
  const runs = await Promise.all((await logsOf(path)).map(runsOf))
  return runs.flat().sort((a, b) => a.from - b.from)
}

async function logsOf(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const named = (await readdir(path)).filter((name) => name.endsWith('.jsonl')).map((name) => join(path, name))
    // A folder of such a name is no log, and a pipe would wait for its writer.
    const logs = await Promise.all(named.map(async (log) => (await stat(log).catch(() => undefined))?.isFile() === true))
    return named.filter((_, i) => logs[i])
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

function unreadable(path: string, cause: unknown): ArbalestError {
  const why = (cause as NodeJS.ErrnoException).code ?? String(cause)
  const message = `${path}: it cannot be read (${why}); name a log, or a folder of logs`
  return new ArbalestError('DATA_NOT_FOUND', message, { cause, data: { file: path } })
}

type Line = RecordedEvent & { readonly run: string; readonly time: number }
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
interface Growing extends Mutable<Omit<RecordedRun, 'progress' | 'evaluated'>> {
  readonly progress: ProgressEvent[]
  readonly evaluated: EvaluatedEvent[]
}

async function runsOf(file: string): Promise<RecordedRun[]> {
  const runs = new Map<string, Growing>()
  try {
    for await (const text of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
      const line = parsed(text)
      if (line) take(line, runs, file)
    }
  } catch (cause) {
    throw unreadable(file, cause)
  }
  return [...runs.values()]
}

function parsed(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Partial<Line> | null
    return typeof line?.run === 'string' && isTime(line.time) && typeof line.event === 'string' ? (line as Line) : undefined
  } catch {
    return undefined
  }
}

/** Seconds that a calendar has a date for. */
function isTime(seconds: unknown): boolean {
  return typeof seconds === 'number' && !Number.isNaN(new Date(1000 * seconds).getTime())
}

function take({ run, time, ...event }: Line, runs: Map<string, Growing>, file: string): void {
  if (event.event === 'run') {
    const { options, versions } = event
    const known = { options: Object(options) as Growing['options'], versions }
    runs.set(run, { run, file, from: time, until: time, ...known, started: undefined, progress: [], evaluated: [], end: undefined })
  }
  const known = runs.get(run)
  if (!known) return
  known.until = time
  if (event.event === 'started') known.started = event
  if (event.event === 'progress') known.progress.push(event)
  if (event.event === 'evaluated') known.evaluated.push(event)
  if (event.event === 'finished' || event.event === 'failed') known.end = event
}
