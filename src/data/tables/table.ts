import { basename } from 'node:path'
import type { DatasetSpec } from '../../engine/contract.js'
import { invalidOption, shown } from '../../errors.js'
import { featuresOf, widthOf, type TableEncoding } from '../../formats/encoding.js'
import { corruptFile } from '../../formats/file-errors.js'
import { NO_AUGMENTATION } from '../../model/augmentation.js'
import { check } from '../../schema/faults.js'
import { checkFree } from '../checks.js'
import type { StoredDataset } from '../dataset.js'
import { checkColumns, noRows } from './column-names.js'
import { ColumnBuilder, type TableColumn } from './column.js'
import { ColumnEncoder } from './encode.js'
import { faultyValues } from './faulty-values.js'
import { fitColumn, type ColumnReport, type FittedColumn } from './fit.js'
import { readTable } from './table-file.js'
import { tableDatasetOptions, type CheckedTableOptions, type TableDatasetOptions } from './table-options.js'
import { targetOf, type Target } from './target.js'

/** A data set of a table's rows. */
export interface TableDataset extends StoredDataset {
  readonly encoding: TableEncoding
  readonly columns: readonly ColumnReport[]
}

/** As `datasetFromTable`; `path` precedes the names of its options in errors. */
export async function openTable(given: TableDatasetOptions, path = ''): Promise<TableDataset> {
  const { file, name = basename(file), ...options } = check(tableDatasetOptions, given)
  if (options.text !== undefined) throw invalidOption(`${path}text`, options.text, 'use datasetFromTexts for a column of texts')
  if (options.target === undefined) throw invalidOption(`${path}target`, undefined, 'name the column that is predicted')
  const columns = await readColumns(file, options, path)
  const column = columns.find((each) => each.name === options.target)!
  const target = targetOf(column, { file, path, ...options })
  const fitted = columns.map((each) => (each === column ? targetReport(each, target) : fitFeature(each, target, { file, ...options })))
  const encoded = fitted.flatMap(({ encoding }) => (encoding ? [encoding] : []))
  if (encoded.length === 0)
    throw corruptFile(file, {
      expected: `a column to predict ${shown(options.target)} by`,
      found: ignoredColumns(fitted),
      fix: 'correct one of these columns, or add another'
    })
  const encoding: TableEncoding = { kind: 'table', columns: encoded, target: target.encoding }
  const byName = new Map(columns.map((each) => [each.name, each]))
  const part = (rows: Int32Array) => partOf(rows, encoding, byName, target)
  const features = featuresOf(encoding)
  checkFree(4 * features * column.rows, `${name}: ${column.rows} rows of ${features} features`)
  return {
    name,
    sample: [features],
    classes: target.classNames?.length ?? 0,
    ...(target.classNames && { classNames: target.classNames }),
    train: part(target.train),
    test: part(target.test),
    mean: [0],
    std: [1],
    augmentation: NO_AUGMENTATION,
    encoding,
    columns: fitted.map(({ report }) => report)
  }
}

/** Throws UNKNOWN_NAME for a column that an option names and the table lacks, before any row is read. */
async function readColumns(
  file: string,
  { target, ignore, categories, quantities, delimiter }: CheckedTableOptions,
  path: string
): Promise<TableColumn[]> {
  let builders: ColumnBuilder[] = []
  await readTable(
    file,
    {
      header(names) {
        checkColumns(file, names, { target: [target!], ignore, categories, quantities }, path)
        checkRoles({ ignore, categories, quantities }, target!, path)
        builders = names.map((each) => new ColumnBuilder(each))
      },
      block({ columns, lines }) {
        for (const [i, cells] of columns.entries()) for (const [row, cell] of cells.entries()) builders[i]!.add(cell, lines?.[row])
      }
    },
    { delimiter }
  )
  const columns = builders.map((builder) => builder.column())
  if ((columns[0]?.rows ?? 0) === 0) throw corruptFile(file, noRows(columns.map(({ name }) => name)))
  return columns
}

function ignoredColumns(fitted: readonly FittedColumn[]): string {
  const reasons = fitted.flatMap(({ report: { name, kind, reason } }) => (kind === 'ignored' ? [`${shown(name)}: ${reason}`] : []))
  return reasons.length > 0 ? reasons.join('; ') : 'no other column'
}

function targetReport({ name, missing }: TableColumn, { reason, classNames }: Target): FittedColumn {
  return { report: { name, kind: 'target', missing, features: 0, ...(classNames && { values: classNames.length }), reason } }
}

/** Throws INVALID_OPTION for a column that options say two things of. */
function checkRoles(options: Pick<CheckedTableOptions, 'ignore' | 'categories' | 'quantities'>, target: string, path: string): void {
  const roles = new Map<string, string>()
  for (const [name, columns] of Object.entries(options)) {
    for (const column of new Set(columns)) {
      const fix = name === 'ignore' ? 'name other columns' : 'name other columns; task says what the target is'
      if (column === target) throw invalidOption(`${path}${name}`, column, `it is the target: ${fix}`)
      const other = roles.get(column)
      if (other !== undefined) throw invalidOption(`${path}${name}`, column, `it is one of ${other}, too: name it once`)
      roles.set(column, name)
    }
  }
}

/** Throws DATA_CORRUPT for a number that no float32 is, in a column of numbers that is used. */
function fitFeature(
  column: TableColumn,
  { train }: Target,
  { file, ignore, categories, quantities }: CheckedTableOptions & { readonly file: string }
): FittedColumn {
  const { name, missing, codes } = column
  if (ignore.includes(name)) return { report: { name, kind: 'ignored', missing, features: 0, reason: 'as the options say' } }
  const isCategory = categories.includes(name) && codes !== undefined
  const faulty = isCategory ? undefined : faultyValues(column)
  if (faulty?.kind === 'huge')
    throw corruptFile(file, {
      where: `${faulty.place}, column ${shown(name)}`,
      expected: faulty.expected,
      found: faulty.found,
      fix: `${faulty.fix}, leave the cell empty, or leave out the column (ignore, --ignore)`
    })
  return fitColumn(column, train, { isCategory, isQuantity: quantities.includes(name) })
}

function partOf(rows: Int32Array, encoding: TableEncoding, columns: ReadonlyMap<string, TableColumn>, target: Target): DatasetSpec {
  const width = featuresOf(encoding)
  const samples = new Float32Array(width * rows.length)
  let offset = 0
  for (const each of encoding.columns) {
    const { numbers, codes, values } = columns.get(each.name)!
    const encoder = new ColumnEncoder(each)
    const features = widthOf(each)
    for (const [i, row] of rows.entries()) {
      const place = samples.subarray(i * width + offset, i * width + offset + features)
      if (each.kind === 'category') encoder.encode(codes![row]! < 0 ? null : values[codes![row]!], place)
      else encoder.number(numbers![row]!, place)
    }
    offset += features
  }
  const all = { count: rows.length, sample: [width], samples }
  if (target.targets) return { ...all, target: [1], targets: Float32Array.from(rows, (row) => target.targets[row]!) }
  return { ...all, labels: Int32Array.from(rows, (row) => target.labels[row]!), classes: target.classNames.length }
}
