import { extname } from 'node:path'
import {
  datasetByEncoding,
  datasetNames,
  isTablePath,
  loadModel,
  openData,
  textNames,
  type Dataset,
  type EvaluateOptions,
  type ImageFolderOptions,
  type TrainedModel
} from '../../index.js'
import { withFlagsOf } from '../as-typed.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { invalidFlag } from '../flag-values.js'
import { count, duration, external, loss, percent } from '../text.js'
import { metricLines } from './metric-tables.js'
import { addModelFlags, MODEL_FILE, readingOptions, type ModelFlags } from './model-flags.js'

interface EvalFlags extends ModelFlags, CommonFlags {
  readonly dataDir?: string
  readonly metrics?: readonly string[]
}

const DATA = `the data set to measure on: ${datasetNames.join(', ')}, the path of a .txt file, a folder of images, or a table (default: digits)`

export const defineEval: DefineCommand = (command, { finish }) => {
  addModelFlags(command, { data: DATA })
    .argument('<file>', MODEL_FILE)
    .option('--data-dir <folder>', "the folder of the data set's files")
    .option('--metrics <names>', 'confusion, perClass, precision, recall, f1, r2, mae, rmse (all that suit the model)', (names: string) =>
      names.split(',')
    )
    .action(async (file: string, flags: EvalFlags) => finish(await withFlagsOf(command, runEval(file, flags), { directory: 'dataDir' })))
}

/** `arbalest eval`: measures a model's loss, accuracy and other metrics on the test samples of a data set. */
async function runEval(file: string, { data: name = 'digits', dataDir, metrics, json = false, ...flags }: EvalFlags): Promise<ExitCode> {
  const model = await loadModel(file, await readingOptions({ ...flags, ...(datasetNames.includes(name) && { data: name }) }))
  const data = await dataFor(model, name, dataDir)
  // `evaluate` checks the names.
  const measurement = await model.evaluate(data, metrics && ({ metrics } as EvaluateOptions))
  const { samples, testAccuracy, testLoss, testMetrics, seconds } = measurement
  if (json) process.stdout.write(`${JSON.stringify({ model: model.name, data: data.name, ...measurement })}\n`)
  else {
    const accuracy = testAccuracy === null ? '' : `test accuracy ${percent(testAccuracy)}, `
    const took = `${count(samples)} samples in ${duration(seconds)}`
    process.stdout.write(`${external(model.name)} on ${external(data.name)}: ${accuracy}test loss ${loss(testLoss)}; ${took}\n`)
    const names = model.classNames ?? data.classNames
    for (const line of metricLines(testMetrics, { classNames: names, asked: metrics !== undefined })) process.stdout.write(`${line}\n`)
  }
  return EXIT.done
}

/** The data set in the shape that the model takes: a text in windows of the model's context, images of its size and channels. */
async function dataFor(
  { name: model, input, classNames, encoding }: TrainedModel,
  name: string,
  directory: string | undefined
): Promise<Dataset> {
  if (isTablePath(name)) {
    if (!encoding || encoding.kind === 'language')
      throw invalidFlag('--data', name, `model ${external(model)} was not trained on a table or on texts`)
    return datasetByEncoding(name, encoding, classNames)
  }
  const isText = textNames.includes(name) || extname(name).toLowerCase() === '.txt'
  // A model of images cannot take a text; `evaluate` refuses it by its shape.
  if (!isText || input.length !== 1) return openData(name, { directory, images: imagesLike(input) })
  if (encoding?.kind === 'language') {
    const { tokenizer, vocabulary } = encoding
    return openData(name, { directory, context: input[0], tokenizer, vocabulary })
  }
  const data = await openData(name, { directory, context: input[0] })
  // Tokens are indices of a vocabulary: with another vocabulary they would stand for other characters.
  if (classNames && classNames.join() !== data.classNames?.join())
    throw invalidFlag('--data', name, `its characters differ from those of model ${external(model)}; use the text that it was trained on`)
  return data
}

/** Options for a folder of images. */
function imagesLike([channels, size]: readonly number[]): ImageFolderOptions {
  return { channels: channels === 1 ? 1 : 3, ...(size !== undefined && { size }) }
}
