import { stat } from 'node:fs/promises'
import {
  ArbalestError,
  imagesIn,
  isTablePath,
  loadModel,
  readImage,
  type Classification,
  type LabelledEncoding,
  type TrainedModel
} from '../../index.js'
import { withFlagsOf } from '../as-typed.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, reportError, type ExitCode } from '../exit.js'
import { invalidFlag, wholeNumber } from '../flag-values.js'
import { external, percent } from '../text.js'
import { addModelFlags, DELIMITER, MODEL_FILE, readingOptions, type ModelFlags } from './model-flags.js'
import { predictTable } from './predict-table.js'
import { textInput } from './text-input.js'

interface PredictFlags extends ModelFlags, CommonFlags {
  readonly top?: number
  readonly delimiter?: string
}

/** Likeliest classes that are shown of an image or a text. */
const USUAL_TOP = 3

const INPUTS =
  'images or folders of them (JPEG, PNG, WebP, GIF, AVIF, TIFF, SVG); tables (.csv, .tsv, .jsonl, .parquet) for a model of a table or of texts, which also takes files of a text, and texts themselves'

export const definePredict: DefineCommand = (command, { finish }) => {
  addModelFlags(command)
    .argument('<model>', MODEL_FILE)
    .argument('<inputs...>', INPUTS)
    .option('--top <count>', `likeliest classes to show of an image or a text (${USUAL_TOP})`, wholeNumber('--top'))
    .option('--delimiter <character>', DELIMITER)
    .action(async (file: string, inputs: readonly string[], flags: PredictFlags) =>
      finish(await withFlagsOf(command, runPredict(file, inputs, flags)))
    )
}

/** `arbalest predict`: the likeliest classes of each image or text, or the outputs of a model that has no classes, one line each; the rows of a table as CSV, with what is predicted behind them. */
async function runPredict(
  file: string,
  inputs: readonly string[],
  { top: given, delimiter, json = false, ...flags }: PredictFlags
): Promise<ExitCode> {
  const model = await loadModel(file, await readingOptions(file, flags))
  const { encoding } = model
  if (encoding?.kind === 'language') throw invalidFlag('model', file, `model ${external(model.name)} writes texts: use arbalest generate`)
  if (given !== undefined && model.loss !== 'softmaxCrossEntropy')
    throw invalidFlag('--top', `${given}`, 'leave it out: the model gives numbers, not classes')
  const tables = inputs.filter(isTablePath)
  const top = given ?? USUAL_TOP
  if (encoding === undefined || encoding.kind === 'image') {
    checkDelimiter(delimiter, [])
    return predictImages(model, inputs, { top, json })
  }
  checkDelimiter(delimiter, tables)
  if (given !== undefined && tables.length === inputs.length)
    throw invalidFlag('--top', `${given}`, 'leave it out: of the rows of a table only the likeliest class is told')
  let before: string | undefined
  for (const input of inputs) {
    if (isTablePath(input)) before = await predictTable(model, encoding, input, { json, delimiter, before })
    else if (encoding.kind !== 'table') await predictText(model, encoding, input, { top, json })
    else throw invalidFlag('inputs', input, `model ${external(model.name)} takes rows: give a table (.csv, .tsv, .jsonl, .parquet)`)
  }
  return EXIT.done
}

/** Refuses --delimiter where no input is read as a table. */
function checkDelimiter(delimiter: string | undefined, tables: readonly string[]): void {
  if (delimiter !== undefined && tables.length === 0) throw invalidFlag('--delimiter', delimiter, 'leave it out: no input is a table')
}

interface Shown {
  readonly top: number
  readonly json: boolean
}

/** One that cannot be read among several does not keep the others from being told: it is told of too, and the command fails at the end. */
async function predictImages(model: TrainedModel, inputs: readonly string[], { top, json }: Shown): Promise<ExitCode> {
  if (model.input.length !== 3)
    throw invalidFlag(
      'inputs',
      inputs[0]!,
      `model ${external(model.name)} takes samples (${model.input.join(', ')}), not images: use arbalest generate if it writes texts, else loadModel(file).predict in a program`
    )
  const images = (await Promise.all(inputs.map(imageFiles))).flat()
  let code: ExitCode = EXIT.done
  for (const image of images) {
    const sample = await readImage(image, model).catch((error: unknown) => {
      if (images.length === 1 || !(error instanceof ArbalestError)) throw error
      code = EXIT.failed
      reportError(error, { json: false, stack: false })
      if (json) tell(JSON.stringify({ file: image, error: { code: error.code, message: error.message } }))
    })
    if (!sample) continue
    if (model.loss !== 'softmaxCrossEntropy') {
      const outputs = [...model.predict(sample)]
      tell(json ? JSON.stringify({ file: image, outputs }) : `${external(image)}: ${outputs.join(', ')}`)
      continue
    }
    const answers = model.classify(sample, { top })
    if (answers.length > 1) tellPixels(image, answers, { top, json })
    else tell(json ? JSON.stringify({ file: image, classes: answers[0] }) : `${external(image)}: ${likeliest(answers[0]!)}`)
  }
  return code
}

/** Of a model that gives each pixel a class: the most frequent classes, and as JSON the number of each pixel's class too, row by row. */
function tellPixels(image: string, answers: readonly (readonly Classification[])[], { top, json }: Shown): void {
  const counts = new Map<number, { readonly name: string; count: number }>()
  for (const [answer] of answers) {
    const { class: number, name } = answer!
    const found = counts.get(number)
    if (found) found.count++
    else counts.set(number, { name, count: 1 })
  }
  const shares = [...counts].map(([number, { name, count }]) => ({ class: number, name, share: count / answers.length }))
  shares.sort((a, b) => b.share - a.share)
  const told = shares.slice(0, top)
  if (json) return tell(JSON.stringify({ file: image, shares: told, pixels: answers.map(([answer]) => answer!.class) }))
  tell(`${external(image)}: ${told.map(({ name, share }) => `${external(name)} ${percent(share)}`).join(', ')} of its pixels`)
}

async function predictText(model: TrainedModel, { target }: LabelledEncoding, input: string, { top, json }: Shown): Promise<void> {
  const { text, file } = await textInput(input)
  const named = file === undefined ? { text } : { file }
  if (target.kind === 'number') {
    const [value] = model.predict([text])
    tell(json ? JSON.stringify({ ...named, [target.name]: value }) : `${external(input)}: ${value}`)
    return
  }
  const [classes = []] = model.classify([text], { top })
  tell(json ? JSON.stringify({ ...named, classes }) : `${external(input)}: ${likeliest(classes)}`)
}

function likeliest(classes: readonly { readonly name: string; readonly probability: number }[]): string {
  return classes.map(({ name, probability }) => `${external(name)} ${percent(probability)}`).join(', ')
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** The images of a folder and its subfolders, or the file itself. */
async function imageFiles(path: string): Promise<readonly string[]> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true
  return isFolder ? imagesIn(path) : [path]
}
