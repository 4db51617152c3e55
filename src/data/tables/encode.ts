import { invalidOption, shown, type ArbalestError } from '../../errors.js'
import { featuresOf, widthOf, type CategoryEncoding, type ColumnEncoding, type TableEncoding } from '../../formats/encoding.js'
import { allocate } from '../checks.js'
import { categoryPlaces } from './category-places.js'
import { category, daysOf, numberOf, textOf } from './cell.js'

/** A new row: the values of its columns by their names. null, undefined and texts such as `NA` are missing values. */
export type TableRow = Readonly<Record<string, unknown>>

/** A value that a row must not have in a column. */
export interface RowFault {
  /** From 0. */
  readonly row: number
  readonly column: string
  readonly value: unknown
  readonly expected: string
}

/**
 * New rows as samples (rows, features), by the encoding of the training. Columns that it does not have are ignored. Throws INVALID_OPTION for a row that lacks
 * a column; for a value that is no number in a column of numbers, what `refused` makes: INVALID_OPTION if it is omitted.
 */
export function encodeRows(encoding: TableEncoding, rows: readonly TableRow[], refused = refusedOption): Float32Array {
  const width = featuresOf(encoding)
  const samples = new Float32Array(allocate(4 * width * rows.length, 'rows').buffer)
  let offset = 0
  for (const column of encoding.columns) {
    const encoder = new ColumnEncoder(column)
    for (const [i, row] of rows.entries()) {
      if (!isRow(row)) throw invalidOption(`rows[${i}]`, row, 'give an object with the values of the columns')
      if (!Object.hasOwn(row, column.name))
        throw invalidOption(`rows[${i}]`, row, `give it a column ${shown(column.name)}, null if it has no value`)
      const features = samples.subarray(i * width + offset, i * width + offset + widthOf(column))
      const value = row[column.name]
      const expected = column.kind === 'date' ? 'a date (2024-12-31)' : 'a finite number'
      if (!encoder.encode(value, features)) throw refused({ row: i, column: column.name, value, expected })
    }
    offset += widthOf(column)
  }
  return samples
}

function refusedOption({ row, column, value, expected }: RowFault): ArbalestError {
  return invalidOption(`rows[${row}].${column}`, value, `give ${expected}, null if it has no value`)
}

/** Whether the training had a place for a value of a category, or for none. */
export function knowsValue({ values, missing }: CategoryEncoding): (cell: unknown) => boolean {
  const placeOf = categoryPlaces(values)
  return (cell) => {
    const text = textOf(cell)
    return text === undefined ? missing : placeOf(category(text)) !== undefined
  }
}

function isRow(row: unknown): row is TableRow {
  return typeof row === 'object' && row !== null && !Array.isArray(row)
}

/** Cells of a column to features. */
export class ColumnEncoder {
  readonly #column: ColumnEncoding
  readonly #values: readonly string[]
  readonly #placeOf: (text: string) => number | undefined

  constructor(column: ColumnEncoding) {
    this.#column = column
    this.#values = column.kind === 'category' ? column.values : []
    this.#placeOf = categoryPlaces(this.#values)
  }

  /** Writes the features of a cell, which are zeros before. Returns false for a cell that is not of the column's kind. */
  encode(cell: unknown, features: Float32Array): boolean {
    const text = textOf(cell)
    if (this.#column.kind === 'category') return this.#category(text === undefined ? undefined : category(text), features)
    const value = text === undefined ? NaN : this.#column.kind === 'date' ? daysOf(text) : numberOf(text)
    return value !== undefined && this.number(value, features)
  }

  /** Writes a number, NaN for a missing one. Returns false for an infinite one. */
  number(value: number, features: Float32Array): boolean {
    if (this.#column.kind === 'category') return false
    if (Number.isNaN(value)) {
      if (this.#column.missing) features[1] = 1
      return true
    }
    features[0] = (value - this.#column.mean) / this.#column.std
    return Number.isFinite(features[0])
  }

  #category(text: string | undefined, features: Float32Array): boolean {
    const others = this.#values.length
    // A missing value where the training had none is as unknown as another value.
    const place = text === undefined ? (this.#column.missing ? others + 1 : others) : (this.#placeOf(text) ?? others)
    features[place] = 1
    return true
  }
}
