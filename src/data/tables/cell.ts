/** Texts that stand for a missing value, as pandas and R write them. */
const MISSING: ReadonlySet<string> = new Set(['', 'na', 'n/a', 'nan', 'null', 'none', '?', '-', '#n/a'])

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/** ISO 8601: a day, or a day and a time. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/

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

/** Days since 1970; a time without a zone is in UTC. undefined if it is no date. */
export function daysOf(text: string): number | undefined {
  if (!DATE.test(text)) return undefined
  const zoned = text.length > 10 && !/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? `${text}Z` : text
  const milliseconds = Date.parse(zoned.replace(' ', 'T'))
  return Number.isNaN(milliseconds) ? undefined : milliseconds / MILLISECONDS_OF_DAY
}

/** As the values of a category are compared. */
export function category(text: string): string {
  return text.slice(0, LONGEST_VALUE)
}

function json(value: object): string {
  // Bytes of Parquet may be of any length; big whole numbers have no JSON.
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each)) ?? ''
}
