import { invalidOption, shown } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import type { TargetEncoding } from '../../formats/encoding.js'
import { holdOut, holdOutOfClasses, type HeldOut } from '../hold-out.js'
import { MOST_VALUES, type TableColumn } from './column.js'
import { byText, momentsOf } from './fit.js'

/** More different whole numbers are a quantity. */
const MOST_NUMBERED_CLASSES = 10

/** What a table's rows are to give, and which of them are held out. */
export type Target = HeldOut & { readonly encoding: TargetEncoding; readonly reason: string } & (
    | { readonly classNames: readonly string[]; readonly labels: Int32Array; readonly targets?: undefined }
    | { readonly targets: Float32Array; readonly classNames?: undefined }
  )

export interface TargetRequest {
  readonly file: string
  /** Precedes the names of options in errors. */
  readonly path: string
  readonly task?: 'classes' | 'numbers'
  readonly testFraction: number
  readonly seed: number
}

/** Reads the target of all rows. Throws DATA_CORRUPT for a row without one, INVALID_OPTION for a column that cannot be predicted in this way. */
export function targetOf(column: TableColumn, { file, path, task, testFraction, seed }: TargetRequest): Target {
  const { name, rows, missing, numbers, isDate, values, codes } = column
  if (missing > 0)
    throw corruptFile(file, {
      where: `column ${shown(name)}, row ${firstMissing(column)}`,
      expected: 'a value to predict in each row',
      found: `${missing} of ${rows} rows without one`,
      fix: 'remove these rows'
    })
  if (rows < 2) throw corruptFile(file, { expected: 'at least two rows, of which one is held out', found: String(rows), fix: 'add rows' })
  const isFew = values.length <= MOST_NUMBERED_CLASSES && codes !== undefined && (numbers?.every(Number.isInteger) ?? true)
  const asNumbers = task === undefined ? numbers !== undefined && !isDate && !isFew : task === 'numbers'
  if (asNumbers) {
    if (!numbers || isDate) throw notNumbers(column, path)
    return numberTarget(column.name, numbers, holdOut(rows, testFraction, seed), path)
  }
  if (!codes)
    throw invalidOption(`${path}target`, name, `it has more than ${MOST_VALUES} different values, too many classes: predict another column`)
  if (values.length < 2)
    throw invalidOption(`${path}target`, name, `all its values are ${shown(values[0])}: there is nothing to tell apart`)
  return classTarget(column, codes, { testFraction, seed })
}

function classTarget(
  { name, values, numbers }: TableColumn,
  codes: Int32Array,
  { testFraction, seed }: Pick<TargetRequest, 'testFraction' | 'seed'>
): Target {
  const classNames = [...values].sort(numbers ? (a, b) => Number(a) - Number(b) || byText(a, b) : byText)
  const places = new Map(classNames.map((each, i) => [each, i]))
  const classes = Int32Array.from(values, (each) => places.get(each)!)
  const labels = codes.map((code) => classes[code]!)
  const reason = `${classNames.length} classes${numbers ? ': few whole numbers' : ''}`
  return {
    ...holdOutOfClasses(labels, classNames.length, testFraction, seed),
    encoding: { kind: 'classes', name },
    reason,
    classNames,
    labels
  }
}

function numberTarget(name: string, numbers: Float64Array, held: HeldOut, path: string): Target {
  const { mean, std } = momentsOf(numbers, held.train)!
  if (held.train.every((row) => numbers[row] === numbers[held.train[0]!]))
    throw invalidOption(`${path}target`, name, `all its values are ${numbers[held.train[0]!]}: there is nothing to predict`)
  const targets = Float32Array.from(numbers, (value) => (value - mean) / std)
  return { ...held, encoding: { kind: 'number', name, mean, std }, reason: 'a number', targets }
}

function notNumbers({ name, stray, values, isDate }: TableColumn, path: string): Error {
  const found = stray ? `row ${stray.row} has ${shown(stray.text)}` : isDate ? 'it has dates' : `it has ${shown(values[0])}`
  return invalidOption(`${path}target`, name, `${found}, which is no number: correct it, or use task classes`)
}

function firstMissing({ codes, numbers }: TableColumn): number {
  return 1 + (codes?.indexOf(-1) ?? numbers?.findIndex(Number.isNaN) ?? 0)
}
