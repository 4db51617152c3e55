import { shown } from '../../errors.js'
import { MISSING_TEXTS } from './cell.js'
import { LARGEST, type CellTally, type TableColumn } from './column.js'

/** Why a column of numbers or dates is read as texts. */
export interface FaultyValues {
  readonly kind: 'commas' | 'dates' | 'huge' | 'strays'
  /** Where the first of the values is. */
  readonly place: string
  readonly expected: string
  /** How many there are, and the first of them. */
  readonly found: string
  readonly fix: string
}

/**
 * What keeps a column that was meant as numbers or dates from being one: more than half of its values are such, as they are written, but some cannot be read. undefined for a column of
 * texts, and for one that can be read.
 */
export function faultyValues(column: TableColumn): FaultyValues | undefined {
  const { rows, missing, numbers, numeric, dates, commas, unclearDates, huge, strays } = column
  const isMost = (count: number) => count > (rows - missing) / 2
  if (numbers) return undefined
  if (commas && isMost(numeric + commas.count))
    return {
      kind: 'commas',
      place: commas.first.place,
      expected: 'numbers without commas',
      found: examples(commas, 'with a comma'),
      fix: 'write them as 1234.5'
    }
  if (unclearDates && isMost(dates + unclearDates.count))
    return {
      kind: 'dates',
      place: unclearDates.first.place,
      expected: 'dates that mean one day each',
      found: examples(unclearDates, 'like it'),
      fix: 'write them as 2024-12-31 or 31.12.2024'
    }
  if (huge && isMost(numeric))
    return {
      kind: 'huge',
      place: huge.first.place,
      expected: `numbers of at most ${LARGEST}`,
      found: examples(huge, 'above it'),
      fix: `correct ${huge.count === 1 ? 'it' : 'them'}`
    }
  if (!strays) return undefined
  const [most, what] = numeric > dates ? [numeric, 'numbers'] : [dates, 'dates']
  if (!isMost(most)) return undefined
  return {
    kind: 'strays',
    place: strays.first.place,
    expected: `${what}, as ${most} rows have`,
    found: examples(strays, 'that cannot be read'),
    fix: `correct ${strays.count === 1 ? 'it' : 'them'}`
  }
}

/** In the list of columns: where they are, what they are, what to do. */
export function reasonOf({ kind, place, expected, found, fix }: FaultyValues): string {
  const missing = kind === 'strays' ? `, or write a missing value as ${MISSING_TEXTS}` : ''
  return `${place}: expected ${expected}, found ${found}: ${fix}${missing}`
}

/** `"1,5" and 3 others with a comma` */
function examples({ count, first }: CellTally, what: string): string {
  return count === 1 ? shown(first.text) : `${shown(first.text)} and ${count - 1} ${count === 2 ? 'other' : 'others'} ${what}`
}
