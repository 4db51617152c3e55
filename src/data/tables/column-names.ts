import { shown, unknownName } from '../../errors.js'
import { corruptFile, type Corruption } from '../../formats/file-errors.js'
import { numberOf } from './cell.js'

/** Names that a message shows. */
const NAMES_SHOWN = 8

/**
 * Checks that a table has the columns that options name; `path` precedes the names of the options in errors. Throws UNKNOWN_NAME, and DATA_CORRUPT for a first line that has not the names
 * of columns.
 */
export function checkColumns(
  file: string,
  names: readonly string[],
  wanted: Readonly<Record<string, readonly string[]>>,
  path: string
): void {
  for (const [option, list] of Object.entries(wanted))
    for (const each of list) {
      if (names.includes(each)) continue
      if (names.length === 1)
        throw corruptFile(file, {
          where: 'header',
          expected: 'the names of several columns',
          found: shown(names[0]),
          fix: 'remove a title above the names, and check what separates the cells (--delimiter)'
        })
      if (areValues(names)) throw corruptFile(file, { where: 'header', ...withoutNames(names) })
      throw unknownName(`${path}${option}`, each, names)
    }
}

/** Whether the first line of a table has numbers, as its rows have, instead of names. */
export function areValues(names: readonly string[]): boolean {
  return names.filter((name) => numberOf(name) !== undefined).length > names.length / 2
}

/** The fault of a table that begins with a row. */
export function withoutNames(names: readonly string[]): Corruption {
  const found = names.slice(0, NAMES_SHOWN).map(shown).join(', ')
  return { expected: 'the names of the columns in the first line', found, fix: 'write a line with their names above the rows' }
}

/** The fault of a table without rows; `names` are those of its columns. */
export function noRows(names: readonly string[]): Corruption {
  const found = names.length === 0 ? 'an empty file' : `a header alone (${names.slice(0, NAMES_SHOWN).map(shown).join(', ')})`
  return { expected: 'a line with the names of the columns and a line for each row', found, fix: 'add the rows' }
}
