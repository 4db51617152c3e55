import {
  ArbalestError,
  datasetNames,
  datasetTraits,
  explain,
  predict,
  textNames,
  zoo,
  type Config,
  type DatasetTraits,
  type Explanation,
  type ExplainOptions,
  type PredictOptions
} from '../../index.js'
import { clusterOptions } from '../../options/cluster.js'
import { explainOptions, predictOptions } from '../../options/explain.js'
import { asTyped } from '../as-typed.js'
import { loadConfig } from '../config-file.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { OptionFlags, type FlagValues } from '../option-flags.js'
import { checkPlotName, writeChart } from '../svg-file.js'
import { hasColours } from '../terminal.js'
import { memoryChart } from './memory-chart.js'
import { predictionReport } from './prediction-report.js'
import { report } from './report.js'

interface ExplainFlags extends CommonFlags {
  readonly plot?: string
}

// The model is an argument.
const { model: _, ...flagged } = { ...explainOptions.entries, ...clusterOptions.entries }
const flags = new OptionFlags(flagged)
/** What only the explanation of a step takes, and what only the prediction for machines takes. */
const OF_A_STEP = Object.keys(explainOptions.entries).filter((name) => !Object.hasOwn(predictOptions.entries, name))
const OF_MACHINES = Object.keys(clusterOptions.entries)

const NOTES = `
Examples:
  arbalest explain resnet50 --batch 32
  arbalest explain vgg16 --batch 256 --input 3x32x32 --learners 2
  arbalest explain gpt --input 256 --layers 6 --heads 6 --width 384
  arbalest explain resnet50 --batch 32 --device-memory 2GiB --plot memory.svg
  arbalest explain my-run.ts --json                  the model, data, batch and learners of a config (1 learner if it has no number)
  arbalest explain resnet50 --hosts 128 --gpus 8 --link 100Gbit --oversubscription 4
                                                     what a step takes on many machines, by a model of them

MB are the bytes that an operator reads and writes. The time floor of an operator is the longer of two times: its arithmetic at the processor's speed, and its bytes
at the speed of memory or cache. Both speeds are measured, or given by --gflops and --gbs. Operators' outputs are those of the forward and the backward pass
in float32 and canonical order, without padding, scratch memory and copies, and without the parameters' gradients.`

export const defineExplain: DefineCommand = (command, { finish }) => {
  command.argument('<model>', `${Object.keys(zoo).join(', ')}, or a config's file`)
  flags.addTo(command)
  command
    .option('--plot <file>', 'write what a step holds over its operators, with and without --device-memory, as an SVG')
    .addHelpText('after', NOTES)
    .action(async (model: string, { json = false, stack: __, plot, ...values }: ExplainFlags) =>
      finish(await runExplain(model, values, { json, plot }))
    )
}

/** `arbalest explain`: shows the operators of a model's training step and their cost. */
async function runExplain(
  model: string,
  values: FlagValues,
  { json, plot }: { readonly json: boolean; readonly plot: string | undefined }
): Promise<ExitCode> {
  checkPlotName(plot)
  if (values['hosts'] !== undefined) return predictAsTyped(model, values, { json, plot })
  const without = OF_MACHINES.find((name) => values[name] !== undefined)
  if (without)
    throw new ArbalestError('INVALID_OPTION', `${flags.nameOf(without)}: received it without --hosts; add --hosts, the number of machines`)
  const explained = await explainAsTyped(await optionsOf(model, values))
  if (plot !== undefined) await writeChart(plot, memoryChart(explained))
  process.stdout.write(
    json
      ? `${JSON.stringify({ event: 'explained', ...explained })}\n`
      : `${report(explained, { colour: hasColours(process.stdout) }).join('\n')}\n`
  )
  return EXIT.done
}

/** `arbalest explain --hosts`: what a step takes on many machines. */
async function predictAsTyped(
  model: string,
  values: FlagValues,
  { json, plot }: { readonly json: boolean; readonly plot: string | undefined }
): Promise<ExitCode> {
  const wrong = plot === undefined ? OF_A_STEP.find((name) => values[name] !== undefined) : 'plot'
  if (wrong)
    throw new ArbalestError(
      'INVALID_OPTION',
      `${wrong === 'plot' ? '--plot' : flags.nameOf(wrong)}: received it with --hosts; leave one of them out`
    )
  const options = Object.entries(await optionsOf(model, values)).filter(([name]) => !OF_A_STEP.includes(name))
  try {
    const predicted = await predict(Object.fromEntries(options) as unknown as PredictOptions)
    process.stdout.write(json ? `${JSON.stringify({ event: 'predicted', ...predicted })}\n` : `${predictionReport(predicted).join('\n')}\n`)
  } catch (error) {
    throw asTyped(error, { nameOf: (path) => flags.nameOf(path) })
  }
  return EXIT.done
}

async function explainAsTyped(options: ExplainOptions): Promise<Explanation> {
  try {
    return await explain(options)
  } catch (error) {
    throw asTyped(error, { nameOf: (path) => flags.nameOf(path) })
  }
}

/** `explain` checks the values, as it does for callers in JavaScript. */
async function optionsOf(model: string, values: FlagValues): Promise<ExplainOptions> {
  if (!/[./\\]/.test(model)) return { ...flags.over({}, values), model }
  const config = await loadConfig(model)
  if (config.model === undefined)
    throw new ArbalestError('INVALID_OPTION', `config: received ${JSON.stringify(model)}; it has no model: add one`)
  const shared = Object.entries(config).filter(([name, value]) => isShared(name) && !isNoNumber(name, value))
  const shapes = typeof config.model === 'string' ? shapesOf(config.data) : {}
  return { ...flags.over({ ...shapes, ...Object.fromEntries(shared) }, values), model: config.model }
}

/** The shapes that a model of the zoo has by a config's data, where they are known without its files. */
function shapesOf(data: Config['data']): Pick<ExplainOptions, 'input' | 'classes'> {
  if (typeof data === 'string' && (!datasetNames.includes(data) || textNames.includes(data))) return {}
  // `train` checks a Dataset.
  const { sample, classes = 0 } = typeof data === 'string' ? datasetTraits(data) : (Object(data) as Partial<DatasetTraits>)
  return sample && classes > 0 ? { input: sample, classes } : {}
}

/** Whether `explain` has an option of a config, too. */
function isShared(name: string): boolean {
  return name !== 'model' && Object.hasOwn(explainOptions.entries, name)
}

/** Whether a config leaves the number of learners to the run, or changes it: a step of one learner is explained then. */
function isNoNumber(name: string, value: unknown): boolean {
  return name === 'learners' && (value === 'auto' || (typeof value === 'object' && value !== null))
}
