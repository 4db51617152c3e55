import { shown } from '../../errors.js'
import { category, daysOf, hasComma, isUnclearDate, numberOf, textOf } from './cell.js'
import { Growing } from './growing.js'
import { placeOf } from './row-block.js'

/** More different texts are not categories: a column stops counting them there. */
export const MOST_VALUES = 10_000

/** A larger number is no float32. */
export const LARGEST = 3.4e38

/** A cell, and where its row is: `line 5`, or `row 4` in a file without lines. */
export interface PlacedCell {
  readonly place: string
  readonly text: string
}

/** Cells of a sort: how many there are, and the first of them. */
export interface CellTally {
  readonly count: number
  readonly first: PlacedCell
}

/** A column of a table, in memory: its cells as numbers, and as numbers of different texts. */
export interface TableColumn {
  readonly name: string
  readonly rows: number
  /** Cells without a value. */
  readonly missing: number
  /** Where the first of them is; absent if there is none. */
  readonly firstMissing?: string
  /** Cells that are numbers, also those that are too large, and that are dates. */
  readonly numeric: number
  readonly dates: number
  /** (rows), NaN where a value is missing; absent unless all values are numbers up to LARGEST, or all dates, which are days since 1970. */
  readonly numbers?: Float64Array
  readonly isDate: boolean
  /** (rows): each cell's place in `values`, -1 where a value is missing; absent if there are more than MOST_VALUES. */
  readonly codes?: Int32Array
  /** The different texts, in the order in which they appear. */
  readonly values: readonly string[]
  /** Numbers with commas; absent if there is none. The same holds for the next three. */
  readonly commas?: CellTally
  /** Dates that may mean several days. */
  readonly unclearDates?: CellTally
  /** Numbers above LARGEST, which may also be texts that look like numbers: 12e4567 is a hash. */
  readonly huge?: CellTally
  /** What is neither a number nor a date. */
  readonly strays?: CellTally
}

/** Collects the cells of a column. Memory is at most 12 bytes a cell, and the texts of MOST_VALUES values. */
export class ColumnBuilder {
  readonly #name: string
  readonly #codes: Growing<Int32Array>
  #numbers: Growing<Float64Array> | undefined
  readonly #known = new Map<string, number>()
  #rows = 0
  #missing = 0
  #numeric = 0
  #dates = 0
  #overflows = false
  #firstMissing: string | undefined
  #commas: Tally | undefined
  #unclearDates: Tally | undefined
  #huge: Tally | undefined
  #strays: Tally | undefined

  constructor(name: string) {
    this.#name = name
    this.#codes = new Growing(Int32Array, `column ${shown(name)}`)
    this.#numbers = new Growing(Float64Array, `column ${shown(name)}`)
  }

  /** `line` is that of the cell's row, if the file has lines. Throws OUT_OF_MEMORY. */
  add(cell: unknown, line?: number): void {
    this.#rows++
    const text = textOf(cell)
    if (text === undefined) {
      this.#missing++
      this.#firstMissing ??= placeOf(this.#rows, line)
      this.#numbers?.push(NaN)
      this.#code(-1)
      return
    }
    this.#number(text, line)
    if (!this.#overflows) this.#code(this.#codeOf(category(text)))
  }

  column(): TableColumn {
    const numbers = this.#numeric + this.#dates > 0 ? this.#numbers?.values() : undefined
    return {
      name: this.#name,
      rows: this.#rows,
      missing: this.#missing,
      ...(this.#firstMissing !== undefined && { firstMissing: this.#firstMissing }),
      numeric: this.#numeric,
      dates: this.#dates,
      isDate: numbers !== undefined && this.#dates > 0,
      ...(numbers && { numbers }),
      ...(!this.#overflows && { codes: this.#codes.values() }),
      values: [...this.#known.keys()],
      ...(this.#commas && { commas: this.#commas }),
      ...(this.#unclearDates && { unclearDates: this.#unclearDates }),
      ...(this.#huge && { huge: this.#huge }),
      ...(this.#strays && { strays: this.#strays })
    }
  }

  #number(text: string, line: number | undefined): void {
    const number = numberOf(text)
    const days = number === undefined ? daysOf(text) : undefined
    const isHuge = number !== undefined && Math.abs(number) > LARGEST
    if (number !== undefined) this.#numeric++
    else if (days !== undefined) this.#dates++
    else this.#tally(text, line)
    if (isHuge) this.#huge = counted(this.#huge, { text, row: this.#rows, line })
    // A column has numbers or dates, not both, and nothing else.
    const value = number ?? days
    if (value === undefined || isHuge || (this.#numeric > 0 && this.#dates > 0)) this.#numbers = undefined
    else this.#numbers?.push(value)
  }

  /** Counts a cell that is neither a number nor a date, and of what sort it is. */
  #tally(text: string, line: number | undefined): void {
    const cell = { text, row: this.#rows, line }
    this.#strays = counted(this.#strays, cell)
    if (hasComma(text)) this.#commas = counted(this.#commas, cell)
    else if (isUnclearDate(text)) this.#unclearDates = counted(this.#unclearDates, cell)
  }

  #codeOf(value: string): number {
    const known = this.#known.get(value)
    if (known !== undefined) return known
    if (this.#known.size === MOST_VALUES) {
      this.#overflows = true
      this.#codes.clear()
      this.#known.clear()
      return -1
    }
    this.#known.set(value, this.#known.size)
    return this.#known.size - 1
  }

  #code(code: number): void {
    if (!this.#overflows) this.#codes.push(code)
  }
}

interface Tally {
  count: number
  readonly first: PlacedCell
}

interface CountedCell {
  readonly text: string
  readonly row: number
  readonly line: number | undefined
}

function counted(tally: Tally | undefined, { text, row, line }: CountedCell): Tally {
  if (!tally) return { count: 1, first: { place: placeOf(row, line), text: category(text) } }
  tally.count++
  return tally
}
