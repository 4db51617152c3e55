import { shown } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'

/** A record of CSV, and the line in which it ends. */
export interface CsvRecord {
  readonly cells: readonly string[]
  readonly line: number
}

/** Cells of a row that a message shows. */
const CELLS_SHOWN = 8

/** The names of the columns of CSV, by which its rows are checked. A delimiter at the end of a line makes no column. */
export class CsvHeader {
  readonly names: readonly string[]
  readonly #file: string
  readonly #line: number
  readonly #delimiter: string

  constructor(file: string, { cells, line }: CsvRecord, delimiter: string) {
    const names = cells.map((name) => name.trim())
    // A file of nothing but delimiters keeps one, and is refused for it.
    while (names.length > 1 && names.at(-1) === '') names.pop()
    this.names = names
    this.#file = file
    this.#line = line
    this.#delimiter = delimiter
  }

  /** The cells of a row, as many as there are columns; undefined for a row without any value. Throws DATA_CORRUPT for more or fewer. */
  cellsOf(record: CsvRecord): readonly string[] | undefined {
    const { cells } = record
    const width = this.names.length
    // The only cell of a row may be an empty text.
    if (width > 1 && cells.every(isBlank)) return undefined
    if (cells.length === width) return cells
    if (cells.length > width && cells.slice(width).every(isBlank)) return cells.slice(0, width)
    throw this.#fault(record)
  }

  #fault({ cells, line }: CsvRecord): Error {
    const width = this.names.length
    const shownCells = cells.slice(0, CELLS_SHOWN).map(shown).join(', ')
    const columns = this.names.slice(0, CELLS_SHOWN).map(shown).join(', ')
    return corruptFile(this.#file, {
      where: `line ${line}`,
      expected: `${width} ${width === 1 ? 'cell' : 'cells'}, one for each column of the header in line ${this.#line} (${columns}${width > CELLS_SHOWN ? ', ...' : ''})`,
      found: `${cells.length} (${shownCells}${cells.length > CELLS_SHOWN ? ', ...' : ''})`,
      fix: this.#fix(cells.length)
    })
  }

  #fix(count: number): string {
    const width = this.names.length
    const delimiter = shown(this.#delimiter)
    if (count < width) return `add what is missing: a cell without a value is empty between two delimiters (${delimiter})`
    if (width === 1) return `write the names of all columns into line ${this.#line}, separated by ${delimiter}; remove a title above them`
    return `remove what is too much, and put a cell that has a ${delimiter} in it into double quotes`
  }
}

function isBlank(cell: string): boolean {
  return cell.trim() === ''
}
