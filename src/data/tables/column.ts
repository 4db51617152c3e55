import { shown } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import { category, daysOf, numberOf, textOf } from './cell.js'
import { Growing } from './growing.js'

/** More different texts are not categories: a column stops counting them there. */
export const MOST_VALUES = 10_000

/** A larger number is no float32. */
const LARGEST = 3.4e38

/** A column of a table, in memory: its cells as numbers, and as numbers of different texts. */
export interface TableColumn {
  readonly name: string
  readonly rows: number
  /** Cells without a value. */
  readonly missing: number
  /** Cells that are numbers. */
  readonly numeric: number
  /** (rows), NaN where a value is missing; absent unless all values are numbers, or all dates, which are days since 1970. */
  readonly numbers?: Float64Array
  readonly isDate: boolean
  /** (rows): each cell's place in `values`, -1 where a value is missing; absent if there are more than MOST_VALUES. */
  readonly codes?: Int32Array
  /** The different texts, in the order in which they appear. */
  readonly values: readonly string[]
  /** The first value that is no number, if another one is. */
  readonly stray?: { readonly row: number; readonly text: string }
}

/** Collects the cells of a column. Memory is at most 12 bytes a cell, and the texts of MOST_VALUES values. */
export class ColumnBuilder {
  readonly #file: string
  readonly #name: string
  readonly #codes: Growing<Int32Array>
  #numbers: Growing<Float64Array> | undefined
  readonly #known = new Map<string, number>()
  #rows = 0
  #missing = 0
  #numeric = 0
  #dates = 0
  #overflows = false
  #stray: TableColumn['stray']

  constructor(file: string, name: string) {
    this.#file = file
    this.#name = name
    this.#codes = new Growing(Int32Array, `column ${shown(name)}`)
    this.#numbers = new Growing(Float64Array, `column ${shown(name)}`)
  }

  /** Throws DATA_CORRUPT for an infinite number, OUT_OF_MEMORY. */
  add(cell: unknown): void {
    this.#rows++
    const text = textOf(cell)
    if (text === undefined) {
      this.#missing++
      this.#numbers?.push(NaN)
      this.#code(-1)
      return
    }
    this.#number(text)
    if (!this.#overflows) this.#code(this.#codeOf(category(text)))
  }

  column(): TableColumn {
    const numbers = this.#numeric + this.#dates > 0 ? this.#numbers?.values() : undefined
    return {
      name: this.#name,
      rows: this.#rows,
      missing: this.#missing,
      numeric: this.#numeric,
      isDate: this.#dates > 0,
      ...(numbers && { numbers }),
      ...(!this.#overflows && { codes: this.#codes.values() }),
      values: [...this.#known.keys()],
      ...(this.#stray && { stray: this.#stray })
    }
  }

  #number(text: string): void {
    const number = numberOf(text)
    const days = number === undefined ? daysOf(text) : undefined
    if (number !== undefined) {
      this.#numeric++
      this.#checkSize(number, text)
    } else if (days !== undefined) this.#dates++
    else this.#stray ??= { row: this.#rows, text }
    // A column has numbers or dates, not both, and nothing else.
    const value = number ?? days
    if (value === undefined || (this.#numeric > 0 && this.#dates > 0)) this.#numbers = undefined
    else this.#numbers?.push(value)
  }

  #checkSize(number: number, text: string): void {
    if (Math.abs(number) <= LARGEST) return
    throw corruptFile(this.#file, {
      where: `row ${this.#rows}, column ${shown(this.#name)}`,
      expected: `a number of at most ${LARGEST}`,
      found: shown(text),
      fix: 'correct the number, or leave the cell empty'
    })
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
