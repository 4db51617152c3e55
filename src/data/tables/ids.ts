/** A short column of whole numbers may have no repetitions by chance. */
const LEAST_ROWS = 20

/** Ids may be repeated here and there, as where tables were joined. */
const SHARE_OF_DIFFERENT = 0.98

/** Whole numbers that count rows, of which some were removed, are spread over fewer numbers than this many for each row: a step of 2 is a measurement. */
const SPREAD = 1.5

/** `id`, `customer_id`, `customerId`, `Order No.`, `key`. */
const NAME_OF_ID = /(?:^|[^a-z])(?:id|ids|key|uuid|guid|idx|index|nr|no|number)[^a-z]*$/i
const CAMEL_CASE_ID = /[a-z](?:Id|ID|Key|Nr|No)$/

/** Why a column of numbers names the rows and measures nothing; undefined if it may measure something. NaN is a missing value. */
export function idReason(name: string, numbers: Float64Array): string | undefined {
  if (countsRows(numbers)) return 'it counts the rows (if it is a quantity: --quantities)'
  const isNamed = NAME_OF_ID.test(name) || CAMEL_CASE_ID.test(name)
  const sorted = wholeNumbers(numbers)
  if (!sorted || sorted.length < LEAST_ROWS) return undefined
  const isDense = sorted.at(-1)! - sorted[0]! < SPREAD * sorted.length
  if (!isDense && !isNamed) return undefined
  const different = sorted.reduce((count, value, i) => (value === sorted[i - 1] ? count : count + 1), 0)
  if (different < SHARE_OF_DIFFERENT * sorted.length) return undefined
  const how = isDense ? 'leave few gaps' : 'its name is that of an id'
  return `an id: its whole numbers hardly repeat, and ${how} (if it is a quantity: --quantities)`
}

/** Whether the column is an index: each value is the one before plus 1. */
function countsRows(numbers: Float64Array): boolean {
  return numbers.length > 2 && numbers.every((value, row) => row === 0 || value === numbers[row - 1]! + 1)
}

/** The values that are not missing, sorted; undefined if one is not a whole number. */
function wholeNumbers(numbers: Float64Array): Float64Array | undefined {
  if (!numbers.every((value) => Number.isInteger(value) || Number.isNaN(value))) return undefined
  return numbers.filter((value) => !Number.isNaN(value)).sort()
}
