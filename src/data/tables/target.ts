import { invalidOption, shown } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import type { TargetEncoding } from '../../formats/encoding.js'
import { holdOut, holdOutOfClasses, type HeldOut } from '../hold-out.js'
import { meaningOf } from './category-places.js'
import { MISSING_TEXTS } from './cell.js'
import { MOST_VALUES, type TableColumn } from './column.js'
import { faultyValues } from './faulty-values.js'
import { byText, momentsOf } from './fit.js'

/** More different whole numbers are a quantity. */
const MOST_NUMBERED_CLASSES = 10

/** More different texts are no classes if each is in hardly more than one row. */
const MOST_SINGLE_CLASSES = 20

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

/**
 * Reads the target of all rows. Throws DATA_CORRUPT for a row without one, and for numbers or dates that cannot be read unless `task` is `classes`; INVALID_OPTION for a column that cannot
 * be predicted in this way.
 */
export function targetOf(column: TableColumn, { file, path, task, testFraction, seed }: TargetRequest): Target {
  const { name, rows, missing, firstMissing, numbers, isDate, values, codes } = column
  if (missing > 0)
    throw corruptFile(file, {
      where: `${firstMissing}, column ${shown(name)}`,
      expected: 'a value to predict in each row',
      found: `none, as in ${missing} of ${rows} rows (a missing value is ${MISSING_TEXTS})`,
      fix: 'remove the rows without one'
    })
  if (rows < 2) throw corruptFile(file, { expected: 'at least two rows, of which one is held out', found: String(rows), fix: 'add rows' })
  const classes = classesOf(column)
  const isFew = classes.names.length <= MOST_NUMBERED_CLASSES && codes !== undefined && (numbers?.every(Number.isInteger) ?? true)
  if (task !== 'classes') checkValues(column, { file, task, isFew })
  const asNumbers = task === undefined ? numbers !== undefined && !isFew : task === 'numbers'
  if (asNumbers) {
    if (!numbers || isDate) throw notNumbers(column, path)
    return numberTarget(column.name, numbers, holdOut(rows, testFraction, seed), path)
  }
  if (!codes)
    throw invalidOption(`${path}target`, name, `it has more than ${MOST_VALUES} different values, too many classes: predict another column`)
  if (classes.names.length < 2)
    throw invalidOption(`${path}target`, name, `all its values are ${shown(values[0])}: there is nothing to tell apart`)
  // A class of which the training sees a single row is a name.
  if (task === undefined && values.length > MOST_SINGLE_CLASSES && values.length > rows / 2)
    throw invalidOption(
      `${path}target`,
      name,
      `its ${rows} rows have ${values.length} different texts, as ${shown(values[0])}, too many for classes: predict another column, or use task classes (--task classes)`
    )
  return classTarget(column, codes, classes, { testFraction, seed })
}

/** The classes of a column, and the place of each of its texts among them. */
interface TextClasses {
  readonly names: readonly string[]
  /** (values) */
  readonly places: Int32Array
}

/** Spellings of a truth value, and in a column of numbers those of a number, are one class by the name that comes first: joined tables have `1` and `1.0`. */
function classesOf({ values, numbers, isDate }: TableColumn): TextClasses {
  const areNumbers = numbers !== undefined && !isDate
  const meant = (text: string) => (areNumbers || /^(?:true|false)$/i.test(text) ? meaningOf(text) : undefined) ?? text
  const first = new Map<string, string>()
  for (const each of values) if (!first.has(meant(each))) first.set(meant(each), each)
  const names = [...first.values()].sort(areNumbers ? (a, b) => Number(a) - Number(b) || byText(a, b) : byText)
  const placeOf = new Map(names.map((each, i) => [meant(each), i]))
  return { names, places: Int32Array.from(values, (each) => placeOf.get(meant(each))!) }
}

interface ValueRequest extends Pick<TargetRequest, 'file'> {
  readonly task: 'numbers' | undefined
  /** Whether the values may be numbered classes. */
  readonly isFew: boolean
}

/** Refuses numbers and dates that would be classes only because they cannot be read. */
function checkValues(column: TableColumn, { file, task, isFew }: ValueRequest): void {
  const { name, isDate, values } = column
  const asClasses = 'or use task classes (--task classes) if each of its values is a class'
  if (isDate && !isFew && task === undefined)
    throw corruptFile(file, {
      where: `column ${shown(name)}`,
      expected: 'numbers or classes to predict',
      found: `dates, as ${shown(values[0])}`,
      fix: `write a number of days instead, ${asClasses}`
    })
  const faulty = faultyValues(column)
  if (!faulty) return
  const { kind, place, expected, found, fix } = faulty
  if (isFew && (kind === 'dates' || kind === 'strays') && task === undefined) return
  const orRemove = kind === 'strays' || kind === 'huge' ? ', or remove the rows' : ''
  throw corruptFile(file, { where: `${place}, column ${shown(name)}`, expected, found, fix: `${fix}${orRemove}, ${asClasses}` })
}

function classTarget(
  { name, numbers, isDate }: TableColumn,
  codes: Int32Array,
  { names: classNames, places }: TextClasses,
  { testFraction, seed }: Pick<TargetRequest, 'testFraction' | 'seed'>
): Target {
  const labels = codes.map((code) => places[code]!)
  const isFewNumbers = numbers && !isDate && classNames.length <= MOST_NUMBERED_CLASSES
  const reason = `${classNames.length} classes${isFewNumbers ? ': few whole numbers' : ''}`
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

function notNumbers({ name, strays, values, isDate }: TableColumn, path: string): Error {
  const found = isDate
    ? `it has dates, as ${shown(values[0])}, which are`
    : `${strays?.first.place ?? 'it'} has ${shown(strays?.first.text ?? values[0])}, which is`
  return invalidOption(`${path}target`, name, `${found} no number: correct it, or use task classes (--task classes)`)
}
