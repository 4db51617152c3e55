import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ArbalestError } from '../errors.js'
import type { RunRecord } from './run.js'

/** Finished runs, a line each. A line that was cut off by a crash is a run that is not finished. Throws DATA_CORRUPT. */
export async function readRecords(file: string): Promise<readonly RunRecord[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  const lines = text.split('\n')
  return lines.flatMap((line, i) => {
    if (line === '') return []
    try {
      return [JSON.parse(line) as RunRecord]
    } catch (cause) {
      if (i === lines.length - 1) return []
      throw new ArbalestError('DATA_CORRUPT', `${file}: line ${i + 1} is no finished run; take it out, and the run is made again`, {
        cause
      })
    }
  })
}

/** On a line of its own, in the place of one that was cut off. Nothing is awaited in between, so that two that come at once both have a line. */
export function appendRecord(file: string, record: RunRecord): void {
  mkdirSync(dirname(file), { recursive: true })
  const before = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
  const whole = before.lastIndexOf('\n') + 1
  if (whole < before.length) truncateSync(file, whole)
  appendFileSync(file, `${JSON.stringify(record)}\n`)
}
