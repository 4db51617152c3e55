import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ArbalestError } from '../errors.js'

/** The finished runs of a file, without an incomplete last line, which a crash leaves behind. Throws DATA_CORRUPT. */
export async function readRecords<Record extends object>(file: string): Promise<readonly Record[]> {
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
      return [JSON.parse(line) as Record]
    } catch (cause) {
      if (i === lines.length - 1) return []
      throw new ArbalestError('DATA_CORRUPT', `${file}: line ${i + 1} is not a finished run; delete it to repeat the run`, {
        cause
      })
    }
  })
}

/** Appends the record as a line, in the place of an incomplete last line. It awaits nothing, so that two simultaneous calls write two lines. */
export function appendRecord(file: string, record: object): void {
  mkdirSync(dirname(file), { recursive: true })
  const before = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
  const whole = before.lastIndexOf('\n') + 1
  if (whole < before.length) truncateSync(file, whole)
  appendFileSync(file, `${JSON.stringify(record)}\n`)
}
