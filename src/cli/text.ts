import { printable } from '../errors.js'

/** Numbers, tables and names as text for people. */

/** In thousands. Not by `toLocaleString`, whose first call takes 10 ms: it loads the languages of the world. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `1 learner`, `4 learners`. */
export function learnerCount(learners: number): string {
  return `${learners} ${learners === 1 ? 'learner' : 'learners'}`
}

/** `1 iteration`, `1,200 iterations`. */
export function iterationCount(iterations: number): string {
  return `${count(iterations)} ${iterations === 1 ? 'iteration' : 'iterations'}`
}

/** A share from 0 to 1 as a percentage. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(2)}%`
}

/** From here on, as in a run that diverges, a figure is told by its order of magnitude: all of its digits would fill the line. */
const HUGE = 1e9

/** A loss, or another figure of a measurement. */
export function loss(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  return Math.abs(value) < HUGE ? value.toFixed(4) : value.toExponential(3)
}

/** 0:42, 12:05, 3:07:09. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '-:--'
  const whole = Math.max(0, Math.round(seconds))
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

export function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let scaled = value
  let unit = 0
  while (scaled >= 1000 && unit < units.length - 1) {
    scaled /= 1000
    unit++
  }
  return `${unit === 0 || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)} ${units[unit]}`
}

/** Estimates the remaining seconds of a run from its mean speed so far. */
export function secondsLeft({ iteration, iterations, seconds }: { iteration: number; iterations: number; seconds: number }): number {
  return iteration > 0 ? (seconds / iteration) * (iterations - iteration) : Infinity
}

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => string
  /** Alignment: left for names, right for numbers. */
  readonly side?: 'left' | 'right'
}

/**
 * Text from outside of the program, such as the name of a file, a model or a run, in one line for a terminal: control characters, which could
 * move the cursor or imitate other output, are written as escapes. Every such text that a command prints goes through this function.
 */
export function external(text: string): string {
  return printable(text)
}

/** The same for a text of several lines, which keeps its line ends and tabs. */
export function externalLines(text: string): string {
  return text.replaceAll(/[^\n\t]+/g, external)
}

/** A line of titles and a line for each row, with columns as wide as their longest cell. Titles and cells may be text from outside. */
export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly [titles: string, ...rows: string[]] {
  const cells = rows.map((row) => columns.map(({ cell }) => external(cell(row))))
  const titles = columns.map(({ title }) => external(title))
  const widths = titles.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]!.length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => (columns[i]!.side === 'left' ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd()
  return [line(titles), ...cells.map(line)]
}
