import { shown } from '../../errors.js'
import { widthOf, type CategoryEncoding, type ColumnEncoding, type NumberEncoding } from '../../formats/encoding.js'
import { MOST_VALUES, type TableColumn } from './column.js'
import { faultyValues, reasonOf } from './faulty-values.js'
import { idReason } from './ids.js'

/** What was found in a column, and what becomes of it. */
export interface ColumnReport {
  readonly name: string
  /** `target` and `text` are the columns that an option names. */
  readonly kind: 'number' | 'date' | 'category' | 'text' | 'target' | 'ignored'
  /** Rows in which it has no value. */
  readonly missing: number
  /** The numbers of a sample that it becomes. */
  readonly features: number
  /** Different values; absent for numbers, and where there are too many to count. */
  readonly values?: number
  /** Why it is ignored, or is a category although most of its values are numbers; what the target is. */
  readonly reason?: string
}

/** A column that becomes features, or is ignored. */
export interface FittedColumn {
  readonly report: ColumnReport
  readonly encoding?: ColumnEncoding
}

/** Values with a place of their own: the most frequent ones, if they are in at least two training rows. */
const MOST_PLACES = 255
const LEAST_ROWS = 2

/** A column of texts with more different values than this share of its rows is one of names or sentences. */
const SHARE_OF_NAMES = 0.5
/** A small table has few repetitions in any column. */
const FEW_VALUES = 20

/** What the options say of a column. */
export interface ColumnWishes {
  /** A category though its values be numbers. */
  readonly isCategory?: boolean
  /** A quantity though its numbers look like ids. */
  readonly isQuantity?: boolean
}

/** Decides how a column becomes features, from its training rows `rows`. */
export function fitColumn(column: TableColumn, rows: Int32Array, wishes: ColumnWishes = {}): FittedColumn {
  const { name, missing } = column
  const { isCategory = false } = wishes
  const ignored = (reason: string): FittedColumn => ({ report: { name, kind: 'ignored', missing, features: 0, reason } })
  const reason = reasonToIgnore(column, wishes)
  if (reason !== undefined) return ignored(reason)
  const encoding = column.numbers && !isCategory ? fitNumbers(column, column.numbers, rows) : fitCategories(column, column.codes!, rows)
  if (encoding === undefined) return ignored('no training row has a value')
  const faulty = isCategory ? undefined : faultyValues(column)
  return {
    encoding,
    report: {
      name,
      kind: encoding.kind,
      missing,
      features: widthOf(encoding),
      ...(encoding.kind === 'category' && { values: column.values.length }),
      ...(faulty && { reason: reasonOf(faulty) })
    }
  }
}

function reasonToIgnore(column: TableColumn, { isCategory = false, isQuantity = false }: ColumnWishes): string | undefined {
  const { rows, missing, numbers, isDate, codes, values, strays } = column
  const present = rows - missing
  if (present === 0) return 'it has no values'
  if (codes && values.length === 1 && missing === 0) return `all its values are ${shown(values[0])}`
  if (numbers && !isCategory) return isDate || isQuantity ? undefined : idReason(column.name, numbers)
  if (codes && isCategory) return undefined
  const faulty = faultyValues(column)
  // A column of numbers with a few texts in it is a mistake more often than a category.
  const isMistake = faulty && (faulty.kind !== 'strays' || !codes || values.length > FEW_VALUES)
  if (isMistake) return reasonOf(faulty)
  if (codes && (values.length <= FEW_VALUES || values.length <= SHARE_OF_NAMES * present)) return undefined
  const different = codes ? `${values.length} different texts in ${present} rows` : `more than ${MOST_VALUES} different texts`
  return strays ? `${different}, as ${shown(strays.first.text)}` : different
}

/** undefined if no training row has a value. */
function fitNumbers({ name, isDate }: TableColumn, numbers: Float64Array, rows: Int32Array): NumberEncoding | undefined {
  const moments = momentsOf(numbers, rows)
  return moments && { kind: isDate ? 'date' : 'number', name, mean: moments.mean, std: moments.std, missing: moments.count < rows.length }
}

/** Mean and standard deviation of the values of some rows that are not NaN: a std of 1 if all are equal. */
export function momentsOf(
  numbers: Float64Array,
  rows: Int32Array
): { readonly count: number; readonly mean: number; readonly std: number } | undefined {
  let count = 0
  let mean = 0
  for (const row of rows) {
    const value = numbers[row]!
    if (!Number.isNaN(value)) mean += (value - mean) / ++count
  }
  if (count === 0) return undefined
  let squares = 0
  for (const row of rows) {
    const value = numbers[row]!
    if (!Number.isNaN(value)) squares += (value - mean) ** 2
  }
  const std = Math.sqrt(squares / count)
  return { count, mean, std: std > 0 ? std : 1 }
}

function fitCategories({ name, values }: TableColumn, codes: Int32Array, rows: Int32Array): CategoryEncoding | undefined {
  const counts = new Uint32Array(values.length)
  let missing = 0
  for (const row of rows) {
    const code = codes[row]!
    if (code < 0) missing++
    else counts[code]!++
  }
  if (missing === rows.length) return undefined
  const frequent = [...counts.keys()]
    .filter((code) => counts[code]! >= LEAST_ROWS)
    .sort((a, b) => counts[b]! - counts[a]! || a - b)
    .slice(0, MOST_PLACES)
    .map((code) => values[code]!)
  return { kind: 'category', name, values: frequent.sort(byText), missing: missing > 0 }
}

/** Compares code units, which is independent of the locale. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
