import { createReadStream } from 'node:fs'
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
import { LineSplitter } from './line-splitter.js'
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

/** The runs of a log, in the order in which they began. Skips lines that are not whole events. Throws the system's error. */
export async function runsOfLog(file: string): Promise<RecordedRun[]> {
  const runs: RunsOfLog = new Map()
  const lines = new LineSplitter()
  const takeLine = (text: string | undefined) => {
    const line = text === undefined ? undefined : parsedLine(text)
    if (line) take(line, runs, file)
  }
  // Not by node:readline: a line that is longer than any text may be ends the process.
  for await (const text of createReadStream(file, 'utf8')) for (const line of lines.push(text as string)) takeLine(line)
  takeLine(lines.takeRest())
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

/** What is told of a run's events. A line of another program, or of another version, may lack it: it is no whole event then. */
const NEEDED: Readonly<Record<string, Readonly<Record<string, 'string' | 'number' | 'object'>>>> = {
  started: { model: 'string', data: 'string' },
  progress: { iteration: 'number' },
  evaluated: { iteration: 'number' },
  logged: { iteration: 'number', metrics: 'object' },
  finished: { reason: 'string' },
  failed: { code: 'string' }
}

function isWhole(event: RecordedEvent): boolean {
  const needed = Object.hasOwn(NEEDED, event.event) ? NEEDED[event.event]! : {}
  const fields = event as unknown as Readonly<Record<string, unknown>>
  return Object.entries(needed).every(([name, type]) => typeof fields[name] === type && fields[name] !== null)
}

function take({ run, time, ...event }: LogEvent, runs: RunsOfLog, file: string): void {
  if (!isWhole(event)) return
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
