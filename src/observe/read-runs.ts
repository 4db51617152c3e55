import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ArbalestError, invalidOption } from '../errors.js'
import type { RecordedRun } from './runs-of-log.js'

/**
 * The runs of a log file, or of every `*.jsonl` in a folder, oldest first. Skips lines that are not whole events: a loss of power may leave one. Throws
 * DATA_NOT_FOUND, INVALID_OPTION.
 */
export async function readRuns(path: string): Promise<RecordedRun[]> {
  const { runsOfLog } = await import('./runs-of-log.js')
  const runs: RecordedRun[] = []
  // One after another: a folder may have more logs than a process may open files.
  for (const log of await logsOf(path))
    runs.push(...(await runsOfLog(log).catch((cause: unknown) => Promise.reject(unreadable(log, cause)))))
  return eachOnce(runs).sort((a, b) => a.from - b.from)
}

/** A run that is in several logs, as in a copy of one, is told by the log that goes on for longest. */
export function eachOnce(runs: readonly RecordedRun[]): RecordedRun[] {
  const byName = new Map<string, RecordedRun>()
  for (const each of runs) if (each.until > (byName.get(each.run)?.until ?? -Infinity)) byName.set(each.run, each)
  return [...byName.values()]
}

/** The log at a path, or those of a folder. Throws DATA_NOT_FOUND, INVALID_OPTION. */
export async function logsOf(path: string): Promise<string[]> {
  if (typeof path !== 'string' || path === '') throw invalidOption('path', path, 'give the path of a log, or of a folder of logs')
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
