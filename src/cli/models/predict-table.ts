import { once } from 'node:events'
import {
  plainText,
  readModelInputs,
  type InputSink,
  type LabelledEncoding,
  type TargetEncoding,
  type TrainedModel,
  type UnknownValues
} from '../../index.js'
import { count, external, externalLines } from '../text.js'

/** Characters that are written at a time: a block of long texts has more than a text can hold. */
const CHARACTERS = 2 ** 16

/** How the rows of a table are written. */
export interface TableOutput {
  readonly json: boolean
  /** Of the file. */
  readonly delimiter?: string | undefined
  /** The header of the table that was written before. */
  readonly before?: string | undefined
}

/**
 * Writes the rows of a table with what a model predicts behind them: CSV with a header, or an object a line. Tells on stderr of values that the model does not know. Returns the header, which
 * is not repeated where it is that of the table `before`: the rows of both are one table. Throws what reading them throws.
 */
export async function predictTable(
  model: TrainedModel,
  encoding: LabelledEncoding,
  file: string,
  { json, delimiter, before }: TableOutput
): Promise<string> {
  const { target } = encoding
  let names: readonly string[] = []
  let header = ''
  let isDue = false
  let added: readonly string[] = []
  const sink: InputSink = {
    header(columns) {
      added = addedColumns(target, columns)
      // What was predicted before is predicted anew.
      names = columns.filter((column) => !added.includes(column))
      header = [...names, ...added].map(csvCell).join(',')
      isDue = !json && header !== before
    },
    async block({ rows, samples }) {
      const answers = answersOf(model, target, samples)
      let text = isDue ? `${header}\n` : ''
      isDue = false
      for (const [i, row] of rows.entries()) {
        text += `${json ? jsonLine(row, added, answers[i]!) : [...names.map((name) => row[name]), ...answers[i]!].map(csvCell).join(',')}\n`
        if (text.length < CHARACTERS) continue
        await written(text)
        text = ''
      }
      await written(text)
    }
  }
  const unknown = await readModelInputs(file, encoding, sink, { delimiter })
  // A table without rows has a header, too.
  if (isDue) process.stdout.write(`${header}\n`)
  for (const values of unknown) process.stderr.write(`${external(unknownText(file, values))}\n`)
  return header
}

/** Resolves when stdout takes more. */
async function written(text: string): Promise<void> {
  if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain')
}

/** The names of the columns that are written behind those of a table. One that has a column `probability` of its own keeps it. */
function addedColumns({ kind, name }: TargetEncoding, columns: readonly string[]): readonly string[] {
  const predicted = `predicted ${name}`
  if (kind === 'number') return [predicted]
  const [probability, other] = ['probability', `probability of ${name}`]
  const isItsOwn = columns.includes(probability) && (!columns.includes(predicted) || columns.includes(other))
  return [predicted, isItsOwn ? other : probability]
}

function unknownText(file: string, { column, count: rows, first: { place, text } }: UnknownValues): string {
  const example = text === '' ? 'an empty cell' : JSON.stringify(text)
  const [subject, verb] = rows === 1 ? ['1 row has', 'it counts'] : [`${count(rows)} rows have`, 'they count']
  return `${file}: column ${JSON.stringify(column)}: ${subject} a value that the model does not know, as ${example} in ${place}: ${verb} as one of its rare values`
}

/** A number, or the likeliest class and its probability, for each sample. */
function answersOf(model: TrainedModel, target: TargetEncoding, samples: Float32Array | Int32Array): readonly unknown[][] {
  if (target.kind === 'number') return Array.from(model.predict(samples), (value) => [value])
  return model.classify(samples, { top: 1 }).map(([first]) => [first!.name, first!.probability])
}

function jsonLine(row: Readonly<Record<string, unknown>>, added: readonly string[], answers: readonly unknown[]): string {
  const all = { ...row, ...Object.fromEntries(added.map((name, i) => [name, answers[i]])) }
  return JSON.stringify(all, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

/** As RFC 4180 has it. */
function csvCell(value: unknown): string {
  // plainText leaves out the blanks around a text.
  const cell = typeof value === 'string' ? value : (plainText(value) ?? '')
  // What is piped on stays exact.
  const text = process.stdout.isTTY ? externalLines(cell) : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
