import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { builtin } from '../builtin-modules.js'
import { ArbalestError, invalidOption } from '../errors.js'
import type {
  EvaluatedEvent,
  FailedEvent,
  FinishedEvent,
  LoggedEvent,
  ProgressEvent,
  RecordedEvent,
  RunEvent,
  StartedEvent
} from './events.js'
import { WayBack } from './way-back.js'

/** A run, read from its log. */
export interface RecordedRun {
  readonly run: string
  readonly file: string
  /** Seconds since 1970: of the first line and of the last. */
  readonly from: number
  readonly until: number
  readonly options: Readonly<Record<string, unknown>>
  readonly versions: RunEvent['versions']
  /** Absent if the run ended before its first step. */
  readonly started: StartedEvent | undefined
  /** As `evaluated` and `logged`, without what the run discarded when it went back. */
  readonly progress: readonly ProgressEvent[]
  readonly evaluated: readonly EvaluatedEvent[]
  /** Metrics of the user's own. */
  readonly logged: readonly LoggedEvent[]
  /** Absent while the run goes on, and if it was killed. */
  readonly end: FinishedEvent | FailedEvent | undefined
}

/**
 * The runs of a log file, or of every `*.jsonl` in a folder, oldest first. Skips lines that are not whole events: a loss of power may leave one. Throws
 * DATA_NOT_FOUND.
 */
export async function readRuns(path: string): Promise<RecordedRun[]> {
  if (typeof path !== 'string' || path === '') throw invalidOption('path', path, 'give the path of a log, or of a folder of logs')
  const runs = await Promise.all((await logsOf(path)).map(runsOf))
  return eachOnce(runs.flat()).sort((a, b) => a.from - b.from)
}

/** A run that is in several logs, as in a copy of one, is told by the log that goes on for longest. */
export function eachOnce(runs: readonly RecordedRun[]): RecordedRun[] {
  const byName = new Map<string, RecordedRun>()
  for (const each of runs) if (each.until > (byName.get(each.run)?.until ?? -Infinity)) byName.set(each.run, each)
  return [...byName.values()]
}

/** The log at a path, or those of a folder. Throws DATA_NOT_FOUND. */
export async function logsOf(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const named = (await readdir(path)).filter((name) => name.endsWith('.jsonl')).map((name) => join(path, name))
    // Files only: reading a pipe would wait for its writer.
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

/** A line of a log. */
export type LogEvent = RecordedEvent & { readonly run: string; readonly time: number }
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
/** A run whose log is being read. */
interface UnfinishedRun extends Mutable<Omit<RecordedRun, 'progress' | 'evaluated' | 'logged'>> {
  progress: ProgressEvent[]
  evaluated: EvaluatedEvent[]
  logged: LoggedEvent[]
}
/** By their names. */
type RunsOfLog = Map<string, { readonly recorded: UnfinishedRun; readonly wayBack: WayBack }>

async function runsOf(file: string): Promise<RecordedRun[]> {
  const runs: RunsOfLog = new Map()
  try {
    for await (const text of builtin.readline().createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
      const line = parsedLine(text)
      if (line) take(line, runs, file)
    }
  } catch (cause) {
    throw unreadable(file, cause)
  }
  return [...runs.values()].map(({ recorded }) => recorded)
}

/** The event of a line; undefined if it is not a whole one. */
export function parsedLine(text: string): LogEvent | undefined {
  try {
    const line = JSON.parse(text) as Partial<LogEvent> | null
    return typeof line?.run === 'string' && isTime(line.time) && typeof line.event === 'string' ? (line as LogEvent) : undefined
  } catch {
    return undefined
  }
}

/** Whether a Date can hold it. */
function isTime(seconds: unknown): boolean {
  return typeof seconds === 'number' && !Number.isNaN(new Date(1000 * seconds).getTime())
}

function take({ run, time, ...event }: LogEvent, runs: RunsOfLog, file: string): void {
  if (event.event === 'run') {
    const { options, versions } = event
    const known = { options: Object(options) as UnfinishedRun['options'], versions }
    const events = { started: undefined, progress: [], evaluated: [], logged: [], end: undefined }
    runs.set(run, { recorded: { run, file, from: time, until: time, ...known, ...events }, wayBack: new WayBack() })
  }
  const known = runs.get(run)
  if (!known) return
  const { recorded, wayBack } = known
  const from = wayBack.take(event)
  if (from !== undefined) discardAfter(from, recorded)
  recorded.until = time
  if (event.event === 'started') recorded.started = event
  if (event.event === 'progress') recorded.progress.push({ ...event, loss: lossOf(event.loss) })
  if (event.event === 'evaluated') recorded.evaluated.push(withTestLoss(event))
  if (event.event === 'logged') recorded.logged.push(event)
  if (event.event === 'finished') recorded.end = withTestLoss(event)
  if (event.event === 'failed') recorded.end = event
}

function discardAfter(iteration: number, run: UnfinishedRun): void {
  const isKept = (event: { readonly iteration: number }) => event.iteration <= iteration
  run.progress = run.progress.filter(isKept)
  run.evaluated = run.evaluated.filter(isKept)
  run.logged = run.logged.filter(isKept)
}

function withTestLoss<Event extends EvaluatedEvent | FinishedEvent>(event: Event): Event {
  return { ...event, testLoss: lossOf(event.testLoss) }
}

/** JSON has no NaN: a log has null for a loss that was no finite number. */
function lossOf(logged: number | null): number {
  return logged ?? NaN
}
