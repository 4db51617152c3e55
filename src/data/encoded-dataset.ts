import { basename } from 'node:path'
import type { DatasetSpec } from '../engine/contract.js'
import { shown } from '../errors.js'
import { featuresOf, type LabelledEncoding, type TargetEncoding } from '../formats/encoding.js'
import { corruptFile } from '../formats/file-errors.js'
import { NO_AUGMENTATION } from '../model/augmentation.js'
import type { StoredDataset } from './dataset.js'
import { check } from '../schema/faults.js'
import { kind } from '../schema/values.js'
import { checkHas, labelledEncoding, readInputs, type InputSink } from './model-inputs.js'
import { namesShown } from './names-shown.js'
import { categoryPlaces } from './tables/category-places.js'
import { category, numberOf, textOf } from './tables/cell.js'
import { noRows } from './tables/column-names.js'
import { placeOf, type ReadTableOptions } from './tables/row-block.js'

const names = kind<readonly string[]>(
  (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
  'the names of the classes, a list of texts'
)

/** As `datasetByEncoding`. */
export async function encodedDataset(
  file: string,
  encoding: LabelledEncoding,
  classNames: readonly string[] = [],
  options: ReadTableOptions = {}
): Promise<StoredDataset> {
  check(labelledEncoding, encoding, { path: 'encoding' })
  check(names, classNames, { path: 'classNames' })
  const { target } = encoding
  const blocks: (Float32Array | Int32Array)[] = []
  const answers: number[] = []
  const placeOfClass = categoryPlaces(classNames)
  const answerOf = (cell: unknown, line: number | undefined): number => {
    const answer = answerIn(target, placeOfClass, textOf(cell))
    if (answer !== undefined) return answer
    throw corruptFile(file, {
      where: `${placeOf(answers.length + 1, line)}, column ${shown(target.name)}`,
      expected:
        target.kind === 'number' ? 'a finite number' : `one of the ${classNames.length} classes of the model (${namesShown(classNames)})`,
      found: shown(cell),
      fix: 'correct or remove the row'
    })
  }
  const read: InputSink = {
    header: (columns) => checkHas(file, columns, [target.name], 'with the right answer of each row'),
    block({ rows, samples, lines }) {
      blocks.push(samples)
      for (const [i, row] of rows.entries()) answers.push(answerOf(row[target.name], lines?.[i]))
    }
  }
  await readInputs(file, encoding, read, options)
  const count = answers.length
  if (count === 0) throw corruptFile(file, noRows([target.name]))
  const sample = [encoding.kind === 'table' ? featuresOf(encoding) : encoding.length]
  const inputsOf = { count, sample, samples: joined(blocks) }
  const all: DatasetSpec =
    target.kind === 'number'
      ? { ...inputsOf, target: [1], targets: Float32Array.from(answers) }
      : { ...inputsOf, labels: Int32Array.from(answers), classes: classNames.length }
  return {
    name: basename(file),
    sample,
    classes: all.classes ?? 0,
    ...(target.kind === 'classes' && { classNames }),
    train: all,
    test: all,
    mean: [],
    std: [],
    augmentation: NO_AUGMENTATION,
    encoding
  }
}

/** The class of a text, or its number as the model gives it; undefined if it is neither. */
function answerIn(
  target: TargetEncoding,
  placeOfClass: (text: string) => number | undefined,
  text: string | undefined
): number | undefined {
  if (text === undefined) return undefined
  if (target.kind === 'classes') return placeOfClass(category(text))
  const number = numberOf(text)
  // The model gives a float32.
  const answer = number === undefined ? NaN : Math.fround((number - target.mean) / target.std)
  return Number.isFinite(answer) ? answer : undefined
}

function joined(blocks: readonly (Float32Array | Int32Array)[]): Float32Array | Int32Array {
  const length = blocks.reduce((sum, block) => sum + block.length, 0)
  const all = blocks[0] instanceof Int32Array ? new Int32Array(length) : new Float32Array(length)
  let at = 0
  for (const block of blocks) {
    all.set(block, at)
    at += block.length
  }
  return all
}
