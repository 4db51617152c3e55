import {
  ArbalestError,
  datasetNames,
  datasetTraits,
  isTablePath,
  loadModel,
  openDataForModel,
  type EvaluateOptions,
  type TrainedModel
} from '../../index.js'
import { withFlagsOf } from '../as-typed.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { invalidFlag } from '../flag-values.js'
import { count, duration, external, loss, percent } from '../text.js'
import { metricLines } from './metric-tables.js'
import { addModelFlags, DELIMITER, MODEL_FILE, readingOptions, type ModelFlags } from './model-flags.js'

interface EvalFlags extends ModelFlags, CommonFlags {
  readonly dataDir?: string
  readonly delimiter?: string
  readonly metrics?: readonly string[]
}

const DATA = `the data set to measure on: ${datasetNames.join(', ')}, the path of a .txt file, a folder of images, or a table (digits if the model takes them)`

export const defineEval: DefineCommand = (command, { finish }) => {
  addModelFlags(command, { data: DATA })
    .argument('<file>', MODEL_FILE)
    .option('--data-dir <folder>', "the folder of the data set's files")
    .option('--delimiter <character>', DELIMITER)
    .option(
      '--metrics <names>',
      'confusion, perClass, precision, recall, f1, iou, auc, r2, mae, rmse (all that suit the model)',
      metricNames
    )
    .action(async (file: string, flags: EvalFlags) => finish(await withFlagsOf(command, runEval(file, flags), { directory: 'dataDir' })))
}

/** Given in several parts, all of them count. */
function metricNames(names: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...names.split(',')]
}

/** `arbalest eval`: measures a model's loss, accuracy and other metrics on the test samples of a data set. */
async function runEval(file: string, { data: given, dataDir, delimiter, metrics, json = false, ...flags }: EvalFlags): Promise<ExitCode> {
  const isNamed = given !== undefined && datasetNames.includes(given)
  // Where the file describes its model, the measurement finds the classes of the data.
  const isOfModel = isNamed && flags.model !== undefined
  const model = await loadModel(file, await readingOptions(file, { ...flags, ...(isOfModel && { data: given }) }))
  const name = given ?? usualData(model)
  if (dataDir !== undefined && !datasetNames.includes(name))
    throw invalidFlag('--data-dir', dataDir, 'leave it out: it is for data sets by name, and --data is a path')
  if (delimiter !== undefined && !isTablePath(name)) throw invalidFlag('--delimiter', delimiter, `leave it out: ${name} is no table`)
  const data = await openDataForModel(name, model, { directory: dataDir, delimiter })
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

/** The data set of a model that was given none: the generated digits, which need no file. Throws INVALID_OPTION for a model of anything else, with what it takes. */
function usualData({ name, input, classNames, encoding }: TrainedModel): string {
  const { sample, classNames: digits } = datasetTraits('digits')
  const takesDigits = input.join() === sample.join() && (classNames ?? digits).join() === digits.join()
  if (takesDigits && (encoding === undefined || encoding.kind === 'image')) return 'digits'
  throw new ArbalestError('INVALID_OPTION', `--data: received nothing; name ${wantedData({ input, encoding })} to measure model ${name} on`)
}

function wantedData({ input, encoding }: Pick<TrainedModel, 'input' | 'encoding'>): string {
  if (encoding?.kind === 'language') return 'a text (--data FILE.txt)'
  if (encoding && encoding.kind !== 'image') {
    const inputs = encoding.kind === 'table' ? encoding.columns.map((column) => column.name) : [encoding.column ?? 'text']
    return `a table with the columns ${[...inputs, encoding.target.name].map((column) => JSON.stringify(column)).join(', ')} (--data FILE.csv)`
  }
  if (input.length === 1) return 'a text (--data FILE.txt), or another data set,'
  return `a data set of samples of ${input.join(' x ')} (--data NAME, or --data FOLDER with images)`
}
