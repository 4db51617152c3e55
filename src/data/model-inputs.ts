import { ArbalestError, shown } from '../errors.js'
import { didYouMean } from '../did-you-mean.js'
import { isLabelledEncoding, type LabelledEncoding } from '../formats/encoding.js'
import { corruptFile } from '../formats/file-errors.js'
import { check } from '../schema/faults.js'
import { kind } from '../schema/values.js'
import { hasComma, plainText } from './tables/cell.js'
import type { CellTally } from './tables/column.js'
import { encodeRows, knowsValue, type RowFault, type TableRow } from './tables/encode.js'
import { placeOf, type ReadTableOptions, type RowBlock } from './tables/row-block.js'
import { readTable } from './tables/table-file.js'
import { encodeTexts } from './texts/encode-texts.js'

/** Values of a category that the training did not have, or in a single row only. */
export interface UnknownValues extends CellTally {
  readonly column: string
}

/** Some rows of a table, as a model takes them. */
export interface InputBlock {
  /** By the names of the columns. */
  readonly rows: readonly TableRow[]
  /** (rows, ...) */
  readonly samples: Float32Array | Int32Array
  /** The line of each row, of a file of text. */
  readonly lines: RowBlock['lines']
}

/** Who reads the inputs of a model. */
export interface InputSink {
  /** Gets the names of the table's columns, before any rows. */
  readonly header?: (columns: readonly string[]) => void
  /** The next block is read when this has resolved. */
  readonly block: (block: InputBlock) => void | Promise<void>
}

export const labelledEncoding = kind<LabelledEncoding>(
  isLabelledEncoding,
  'the encoding of a model that was trained on a table, or on texts with answers'
)

const inputSink = kind<InputSink>((value) => {
  const { header, block } = Object(value) as Partial<Record<keyof InputSink, unknown>>
  return typeof block === 'function' && (header === undefined || typeof header === 'function')
}, 'an object with a function block, and maybe one header')

/** As `readModelInputs` of datasets.ts. */
export async function readInputs(
  file: string,
  encoding: LabelledEncoding,
  sink: InputSink,
  options: ReadTableOptions = {}
): Promise<readonly UnknownValues[]> {
  check(labelledEncoding, encoding, { path: 'encoding' })
  check(inputSink, sink, { path: 'sink' })
  let inputs: ModelInputs | undefined
  const read = {
    header(columns: readonly string[]) {
      inputs = new ModelInputs(file, encoding, columns)
      sink.header?.(columns)
    },
    block: (block: RowBlock) => sink.block(inputs!.of(block))
  }
  await readTable(file, read, options)
  return inputs?.unknown() ?? []
}

/** The rows of a table's file as inputs of a model: errors name the file, the line and the column. */
class ModelInputs {
  readonly #file: string
  readonly #encoding: LabelledEncoding
  readonly #names: readonly string[]
  readonly #unknown = new Map<string, { count: number; readonly first: CellTally['first'] }>()
  #rows = 0

  /** `names` are those of the table's columns. Throws UNKNOWN_NAME if the model needs another one. */
  constructor(file: string, encoding: LabelledEncoding, names: readonly string[]) {
    this.#file = file
    this.#encoding = encoding
    this.#names = names
    const needed = encoding.kind === 'table' ? encoding.columns.map(({ name }) => name) : [textColumn(encoding)]
    checkHas(file, names, needed)
  }

  /** The next block. Throws DATA_CORRUPT for a value that its column cannot have. */
  of({ rows: count, columns, lines }: RowBlock): InputBlock {
    const rows = Array.from({ length: count }, (_, row) => Object.fromEntries(this.#names.map((name, i) => [name, columns[i]![row]])))
    const first = this.#rows
    this.#rows += count
    return { rows, samples: this.#samples(rows, (row) => placeOf(first + row + 1, lines?.[row])), lines }
  }

  /** What the model takes for other values than it knows, by columns. */
  unknown(): readonly UnknownValues[] {
    return Array.from(this.#unknown, ([column, tally]) => ({ column, ...tally }))
  }

  #samples(rows: readonly TableRow[], place: (row: number) => string): Float32Array | Int32Array {
    const encoding = this.#encoding
    if (encoding.kind !== 'table')
      return encodeTexts(
        encoding,
        rows.map((row) => plainText(row[textColumn(encoding)]) ?? '')
      )
    this.#countUnknown(rows, place)
    return encodeRows(encoding, rows, (fault) => this.#refused(fault, place(fault.row)))
  }

  #countUnknown(rows: readonly TableRow[], place: (row: number) => string): void {
    if (this.#encoding.kind !== 'table') return
    for (const column of this.#encoding.columns) {
      if (column.kind !== 'category') continue
      const knows = knowsValue(column)
      for (const [row, cells] of rows.entries()) {
        const cell = cells[column.name]
        if (knows(cell)) continue
        const tally = this.#unknown.get(column.name)
        if (tally) tally.count++
        else this.#unknown.set(column.name, { count: 1, first: { place: place(row), text: plainText(cell) ?? '' } })
      }
    }
  }

  #refused({ column, value, expected }: RowFault, place: string): ArbalestError {
    const comma = hasComma(plainText(value) ?? '') ? ' (write it as 1234.5)' : ''
    return corruptFile(this.#file, {
      where: `${place}, column ${shown(column)}`,
      expected,
      found: shown(value),
      fix: `correct it${comma}, or leave the cell empty`
    })
  }
}

/** Throws UNKNOWN_NAME for the columns that a table lacks. `cells` says what to fill them with. */
export function checkHas(
  file: string,
  names: readonly string[],
  needed: readonly string[],
  cells = 'with empty cells where there is no value'
): void {
  const lacks = needed.filter((name) => !names.includes(name))
  if (lacks.length === 0) return
  const plural = lacks.length > 1 ? 's' : ''
  const similar = lacks.length === 1 ? didYouMean(lacks[0], names) : ''
  const message =
    `${file}: it has no column${plural} ${lacks.map(shown).join(', ')}, which the model was trained on; ` +
    `add the column${plural}, ${cells} (it has ${names.map(shown).join(', ')})${similar}`
  throw new ArbalestError('UNKNOWN_NAME', message, { data: { file, columns: lacks, known: names } })
}

function textColumn(encoding: Exclude<LabelledEncoding, { kind: 'table' }>): string {
  return encoding.column ?? 'text'
}
