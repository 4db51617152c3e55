import * as v from 'valibot'
import { group, option, required, type CheckedOptions, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { list, oneOf, real, text, whole, withForm } from '../../schema/values.js'

const column = text('the name of a column')
const columns = list(text('the name of a column'), "a list of names of columns, such as ['id', 'comment']")

const DELIMITER = 'one character that is neither a double quote nor a line end'

/** What separates cells: more than one character may, too. */
const character = text(DELIMITER)
const delimiter = withForm(v.pipe(character, v.regex(/^[^"\r\n]+$/, `give ${DELIMITER}`)), character.form!)

export const tableOptions = group({
  /** The column that is predicted. */
  target: option(column, { text: 'column of a table that is predicted', flag: '--target <column>' }),
  /** The column of texts by which the target is predicted, by an encoder of bytes; if omitted, it is predicted by all other columns. */
  text: option(column, { text: 'column of texts by which the target is predicted, instead of all other columns', flag: '--text <column>' }),
  /** Whether the target is one of several classes or a number. If omitted: numbers are, unless they are at most ten different whole numbers. */
  task: option(oneOf(['classes', 'numbers']), {
    text: 'what the target is: classes or numbers',
    flag: '--task <kind>',
    otherwise: 'what its column has'
  }),
  /** Columns that are not used. */
  ignore: option(columns, { text: 'columns that are not used, comma-separated', flag: '--ignore <columns>', default: [] }),
  /** Columns of numbers that stand for categories. */
  categories: option(columns, {
    text: 'columns of numbers that stand for categories, comma-separated',
    flag: '--categories <columns>',
    default: []
  }),
  /** Columns of whole numbers that are used though they look like ids: numbers that hardly repeat. */
  quantities: option(columns, {
    text: 'columns of whole numbers that are used though they look like ids, comma-separated',
    flag: '--quantities <columns>',
    default: []
  }),
  /** Of CSV: what separates the cells; if omitted, the one of comma, semicolon, tab and bar that the first line has most. */
  delimiter: option(delimiter, {
    text: 'what separates the cells of CSV',
    flag: '--delimiter <character>',
    otherwise: 'found'
  }),
  /** The share of the rows that is held out for the test, of each class alike; 0.1 if omitted. */
  testFraction: option(real({ above: 0, below: 1 }), {
    text: 'share of the rows that is held out for the test',
    flag: '--test-fraction <share>',
    default: 0.1
  }),
  /** Seeds the choice of the rows that are held out; 0 if omitted. */
  seed: option(whole(), { text: 'of the choice of the rows that are held out', default: 0 })
})

/** The options that every reader of tables has. */
export const readTableOptions = group({ delimiter: tableOptions.entries.delimiter })

/** The path of a table, as a caller gives it. */
export const tablePath = text('the path of a table')

/** How a table becomes samples. */
export interface TableOptions extends GivenOptions<typeof tableOptions>, ToldByName {}

export type CheckedTableOptions = CheckedOptions<typeof tableOptions>

/** The options of `datasetFromTable`. */
export const tableDatasetOptions = group({
  /** A path that ends in .csv, .tsv, .jsonl, .ndjson or .parquet. */
  file: required(tablePath),
  /** The file's name if omitted. */
  name: option(text('a word or two')),
  ...tableOptions.entries
})

/** A table of a file, and how it becomes samples. */
export interface TableDatasetOptions extends GivenOptions<typeof tableDatasetOptions>, ToldByName {}
