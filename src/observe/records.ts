import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ArbalestError, messageOf } from '../errors.js'
import { makeFolder } from '../formats/write-file.js'
import type { JobEvent } from './events.js'
import type { JobControl, JobOutcome } from '../run/job.js'
import type { Settings } from '../options/settings.js'
import { loggable } from './loggable.js'
import { RunLog } from './run-log.js'
import { TensorBoardFile } from './tensorboard.js'

/** What a run begins with in its log, before its events. */
export interface RunEvent {
  readonly event: 'run'
  /** The settings, complete with their defaults. */
  readonly options: unknown
  readonly versions: Readonly<Record<string, string>>
}

/** The last line of a run that failed. */
export interface FailedEvent {
  readonly event: 'failed'
  readonly code: string
  readonly message: string
}

/** A line of a log, without its run and its time. */
export type RecordedEvent = RunEvent | JobEvent | FailedEvent

/** Keeps a run's events somewhere. */
export interface RunRecord {
  /** `seconds` since 1970, with their fraction. */
  write(event: RecordedEvent, seconds: number): void
  close(): void
}

/** Runs with every event written to where the settings say, before anybody else sees it. Throws WRITE_FAILED before the run begins. */
export async function recorded(
  settings: Settings,
  control: JobControl,
  run: (control: JobControl) => Promise<JobOutcome>
): Promise<JobOutcome> {
  const records = await opened(settings)
  if (records.length === 0) return run(control)
  const write = (event: RecordedEvent) => {
    for (const record of records.slice())
      if (!succeeds(() => record.write(event, Date.now() / 1000))) close(records.splice(records.indexOf(record), 1))
  }
  try {
    write({ event: 'run', options: loggable(settings), versions: versions() })
    const outcome = await run({
      stop: control.stop,
      emit(event) {
        write(event)
        control.emit(event)
      }
    })
    write(outcome.finished)
    return outcome
  } catch (error) {
    const code = error instanceof ArbalestError ? error.code : 'INTERNAL'
    write({ event: 'failed', code, message: messageOf(error) })
    throw error
  } finally {
    close(records)
  }
}

function close(records: readonly RunRecord[]): void {
  for (const record of records) succeeds(() => record.close())
}

/** Hours of training are worth more than their log: where it fails, that is a warning. */
function succeeds(work: () => void): boolean {
  try {
    work()
    return true
  } catch (cause) {
    process.emitWarning(`a run's record is written no further: ${messageOf(cause)}`)
    return false
  }
}

async function opened({ records: { log, logDir, tensorboard } }: Settings): Promise<RunRecord[]> {
  const now = Date.now() / 1000
  const run = runId(new Date())
  const records: RunRecord[] = []
  try {
    if (log !== undefined) records.push(new RunLog(log, run))
    if (logDir !== undefined) {
      makeFolder(logDir)
      records.push(new RunLog(join(logDir, `${run}.jsonl`), run))
    }
    if (tensorboard !== undefined) records.push(await TensorBoardFile.open(tensorboard, run, now))
    return records
  } catch (cause) {
    close(records)
    if (cause instanceof ArbalestError) throw cause
    const message = `logDir, tensorboard: received ${JSON.stringify({ logDir, tensorboard })}; no file can be made there (${messageOf(cause)}); name folders that may be written`
    throw new ArbalestError('WRITE_FAILED', message, { cause, data: { logDir, tensorboard } })
  }
}

/** Sorts by time, and no two are the same: 20260131-235959-1f3a. */
function runId(now: Date): string {
  const digits = now.toISOString().replaceAll(/[-:]/g, '')
  return `${digits.slice(0, 8)}-${digits.slice(9, 15)}-${randomBytes(2).toString('hex')}`
}

function versions(): Readonly<Record<string, string>> {
  const described = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }
  return { arbalest: described.version, node: process.versions.node }
}
