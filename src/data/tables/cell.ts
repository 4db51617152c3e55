/** Texts that stand for a missing value, as pandas, R and spreadsheets write them. */
const MISSING: ReadonlySet<string> = new Set(['', 'na', 'n/a', 'n.a.', 'nan', 'null', 'none', '?', '-', '--', '#n/a', '<na>'])

/** How a value that is missing is written, for messages. */
export const MISSING_TEXTS = 'an empty cell, NA, N/A, n.a., NaN, null, none, ?, - or --'

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/** A decimal comma, or one between thousands: which of the two is not known. */
const NUMBER_WITH_COMMA = /^[+-]?\d[\d.]*(?:,\d+)+$/

/** ISO 8601 with dashes or, as some write it, slashes: a day, or a day and a time. */
const YEAR_FIRST = /^(\d{4})([-/])(\d{2})\2(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?: ?(Z|UTC|[+-]\d{2}(?::?\d{2})?))?)?$/i

/** With dots the day comes first everywhere. */
const DAY_FIRST = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?: (\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?)?$/

/** A date whose parts may mean several things: with slashes either the day or the month comes first, and two digits are no year. */
const UNCLEAR_DATE = /^(?:\d{1,2}[/-]\d{1,2}[/-]\d{2,4}|\d{1,2}\.\d{1,2}\.\d{2})(?:[ T].*)?$/

const MILLISECONDS_OF_DAY = 86_400_000

/** The longest text of a category, in characters: longer ones are no categories. */
const LONGEST_VALUE = 1000

/** The text of a cell as a category; undefined for a missing value. Objects and lists are their JSON. */
export function textOf(cell: unknown): string | undefined {
  const text = plainText(cell)
  return text === undefined || MISSING.has(text.toLowerCase()) ? undefined : text
}

/** A cell of a table as text, trimmed: objects and lists as their JSON, a Date in ISO 8601; undefined for null. */
export function plainText(cell: unknown): string | undefined {
  if (cell === null || cell === undefined) return undefined
  if (typeof cell === 'string') return cell.trim()
  if (cell instanceof Date) return Number.isNaN(cell.getTime()) ? undefined : cell.toISOString()
  if (typeof cell === 'object') return json(cell)
  return (cell as number).toString()
}

/** The number that a text stands for; undefined if it is none. It may be infinite. */
export function numberOf(text: string): number | undefined {
  if (NUMBER.test(text)) return Number(text)
  return /^[+-]?inf(?:inity)?$/i.test(text) ? Infinity : undefined
}

/** Days since 1970; a time without a zone is in UTC. undefined if it is no date, or none of the calendar. */
export function daysOf(text: string): number | undefined {
  const [, year, , month, day, hours, minutes, seconds, zone] = YEAR_FIRST.exec(text) ?? []
  if (year !== undefined) return days([year, month, day], [hours, minutes, seconds], zone)
  const [, first, second, last, ...time] = DAY_FIRST.exec(text) ?? []
  return first === undefined ? undefined : days([last, second, first], time)
}

/** Whether a text is a number with commas, which may be decimal ones or stand between thousands. */
export function hasComma(text: string): boolean {
  return NUMBER_WITH_COMMA.test(text)
}

/** Whether a text is a date of which it is not clear what its parts mean. */
export function isUnclearDate(text: string): boolean {
  return UNCLEAR_DATE.test(text)
}

/** As the values of a category are compared. */
export function category(text: string): string {
  return text.slice(0, LONGEST_VALUE)
}

type Parts = readonly (string | undefined)[]

/** Of year, month and day, and of hours, minutes and seconds, which may be left out. */
function days(date: Parts, time: Parts, zone = 'Z'): number | undefined {
  const [year = 0, month = 0, day = 0] = date.map(Number)
  const midnight = Date.UTC(year, month - 1, day)
  const found = new Date(midnight)
  // The first century, and days such as 31 February, become others.
  if (found.getUTCFullYear() !== year || found.getUTCMonth() !== month - 1) return undefined
  const [hours, minutes, seconds] = time.map((part = '0') => Number(part)) as [number, number, number]
  if (hours > 24 || minutes > 59 || seconds >= 61) return undefined
  return (midnight + (hours * 3600 + minutes * 60 + seconds - minutesOf(zone) * 60) * 1000) / MILLISECONDS_OF_DAY
}

/** Minutes that the clocks of a zone are ahead of UTC: of `+01:00`, `+0100` or `+01`, `Z` or `UTC`. */
function minutesOf(zone: string): number {
  const [, sign, hours, minutes = 0] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? []
  return (sign === '-' ? -1 : 1) * (60 * Number(hours ?? 0) + Number(minutes))
}

function json(value: object): string {
  // Bytes of Parquet may be of any length; big whole numbers have no JSON.
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`
  try {
    return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each)) ?? ''
  } catch {
    // An object that contains itself is no value of a cell.
    return Object.prototype.toString.call(value)
  }
}
