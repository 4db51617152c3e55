import type { ArbalestError } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import { areValues, noRows, withoutNames } from './column-names.js'

/** A table with more columns is refused: a line of some megabytes without a line end is no header. */
const MOST_COLUMNS = 20_000

const NAME = 'write its name into the first line'
const NAME_OF_INDEX = `${NAME}, such as id (pandas leaves its index out with index=False)`

/** Throws DATA_CORRUPT for names of columns that are none, or not enough to tell them apart. */
export function checkHeader(file: string, columns: readonly string[]): void {
  const fault = (expected: string, found: string, fix: string) => corruptFile(file, { where: 'header', expected, found, fix })
  if (columns.length > MOST_COLUMNS)
    throw fault(`at most ${MOST_COLUMNS} columns`, String(columns.length), 'check what separates the cells, or leave columns out')
  const seen = new Set<string>()
  for (const [i, name] of columns.entries()) {
    if ((name === '' || seen.has(name)) && areValues(columns)) throw corruptFile(file, { where: 'header', ...withoutNames(columns) })
    if (name === '') throw fault('a name for each column', `column ${i + 1} without one`, i === 0 ? NAME_OF_INDEX : NAME)
    if (seen.has(name)) throw fault('different names', `two columns ${JSON.stringify(name.slice(0, 80))}`, 'rename one of them')
    seen.add(name)
  }
}

export function withoutHeader(file: string): ArbalestError {
  return corruptFile(file, noRows([]))
}
