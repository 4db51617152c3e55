import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'

/** The lines of a file of one JSON value a line, without an incomplete last line; none if there is no such file. */
export function readJsonLines<T>(file: string): T[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as T]
      } catch {
        return []
      }
    })
}

/** Appends the value as a line, in the place of an incomplete last line. */
export function appendJsonLine(file: string, value: object): void {
  if (existsSync(file)) {
    const before = readFileSync(file)
    const whole = before.lastIndexOf('\n') + 1
    if (whole < before.length) truncateSync(file, whole)
  }
  appendFileSync(file, `${JSON.stringify(value)}\n`)
}
