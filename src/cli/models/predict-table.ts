import { once } from 'node:events'
import { plainText, readTable, type LabelledEncoding, type TrainedModel } from '../../index.js'
import { invalidFlag } from '../flag-values.js'
import { externalLines } from '../text.js'

/** Writes the rows of a table with what a model predicts behind them: CSV with a header, or an object a line. Throws what reading them throws. */
export async function predictTable(
  model: TrainedModel,
  encoding: LabelledEncoding,
  file: string,
  { json }: { readonly json: boolean }
): Promise<void> {
  const { target } = encoding
  let names: readonly string[] = []
  let header = ''
  const added = target.kind === 'number' ? [`predicted ${target.name}`] : [`predicted ${target.name}`, 'probability']
  await readTable(file, {
    header(columns) {
      names = columns
      const needed = encoding.kind === 'table' ? encoding.columns.map(({ name }) => name) : [encoding.column ?? 'text']
      const lacks = needed.find((name) => !columns.includes(name))
      if (lacks !== undefined)
        throw invalidFlag('inputs', file, `it has no column ${JSON.stringify(lacks)}, which the model was trained on: add it`)
      header = [...columns, ...added].map(csvCell).join(',')
    },
    async block({ rows, columns }) {
      const objects = Array.from({ length: rows }, (_, row) => Object.fromEntries(names.map((name, i) => [name, columns[i]![row]])))
      const answers = answersOf(model, encoding, objects)
      const lines = objects.map((object, row) =>
        json ? jsonLine(object, added, answers[row]!) : [...names.map((name) => object[name]), ...answers[row]!].map(csvCell).join(',')
      )
      if (!json && header !== '') lines.unshift(header)
      header = ''
      if (!process.stdout.write(`${lines.join('\n')}\n`)) await once(process.stdout, 'drain')
    }
  })
}

/** A number, or the likeliest class and its probability, for each row. */
function answersOf(
  model: TrainedModel,
  encoding: LabelledEncoding,
  rows: readonly Readonly<Record<string, unknown>>[]
): readonly unknown[][] {
  const inputs = encoding.kind === 'table' ? rows : rows.map((row) => plainText(row[encoding.column ?? 'text']) ?? '')
  if (encoding.target.kind === 'number') return Array.from(model.predict(inputs), (value) => [value])
  return model.classify(inputs, { top: 1 }).map(([first]) => [first!.name, first!.probability])
}

function jsonLine(row: Readonly<Record<string, unknown>>, added: readonly string[], answers: readonly unknown[]): string {
  const all = { ...row, ...Object.fromEntries(added.map((name, i) => [name, answers[i]])) }
  return JSON.stringify(all, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

/** As RFC 4180 has it. */
function csvCell(value: unknown): string {
  const cell = plainText(value) ?? ''
  // What is piped on stays exact.
  const text = process.stdout.isTTY ? externalLines(cell) : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
