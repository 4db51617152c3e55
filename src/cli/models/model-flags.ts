import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import type { Command } from 'commander'
import { messageOf, unknownName } from '../../errors.js'
import {
  datasetNames,
  datasetTraits,
  modelFile,
  modelNamed,
  SafetensorsFile,
  textNames,
  zoo,
  type DatasetTraits,
  type LoadModelOptions,
  type Model,
  type Normalisation
} from '../../index.js'
import { shapeFromText } from '../../options/explain.js'
import { defaultExport } from '../config-file.js'
import { invalidFlag, realNumber, wholeNumber } from '../flag-values.js'

/** The model of a file that does not describe its model, and how the file's names map to the model's. */
export interface ModelFlags {
  readonly model?: string
  readonly data?: string
  readonly input?: readonly number[]
  readonly classes?: number
  readonly mean?: readonly number[]
  readonly std?: readonly number[]
  readonly names?: string
  readonly reinitialise?: readonly string[]
  readonly strict: boolean
  readonly best?: boolean
}

/** The help of the argument that names a model's file. */
export const MODEL_FILE = 'safetensors, a checkpoint, a folder of checkpoints, or a Hugging Face folder'

const DATA = `the data set whose shapes, classes and normalisation the model has: ${datasetNames.join(', ')}`

/** The help of --delimiter. */
export const DELIMITER = 'what separates the cells of CSV (found)'

/** `data` is the help of --data, for a command that also reads the data set. */
export function addModelFlags(command: Command, { data = DATA }: { data?: string } = {}): Command {
  return command
    .option('--model <name>', `unless the file describes its model: ${Object.keys(zoo).join(', ')}, or a module that exports a Model`)
    .option('--data <name>', data)
    .option('--input <shape>', "one sample's shape: 3x32x32", shapeOf)
    .option('--classes <count>', 'the number of classes of a model of the zoo', wholeNumber('--classes'))
    .option(
      '--mean <numbers>',
      "subtracted from each channel of samples in 0 to 1: 0.5,0.5,0.5 (ImageNet's for models of photographs)",
      means
    )
    .option('--std <numbers>', 'divides each channel after that', standardDeviations)
    .option('--names <file>', "JSON that maps the file's names to the model's; null ignores a tensor")
    .option('--reinitialise <pattern...>', "layers that get random weights instead of the file's: fc, layer4.*")
    .option('--best', 'use the best checkpoint of a folder (the newest)')
    .option('--no-strict', 'ignore missing and unused tensors')
}

/** The options for `loadModel` of a file. Throws INVALID_OPTION and UNKNOWN_NAME. */
export async function readingOptions(
  file: string,
  { names, reinitialise, strict, best, mean, std, ...flags }: ModelFlags
): Promise<LoadModelOptions> {
  const traits = traitsOf(flags.data)
  const normalisation = (mean ?? std) && normalisationOf(mean, std)
  if (normalisation) await refuseOtherNormalisation(await modelFile(file, { best }), normalisation)
  return {
    model: await modelOf(flags),
    ...(traits && { classNames: traits.classNames, ...(flags.model !== undefined && { normalisation: traits }) }),
    ...(normalisation && { normalisation }),
    ...(names !== undefined && { names: await namesFrom(names) }),
    ...(reinitialise && { reinitialise }),
    ...(best && { best }),
    strict
  }
}

/** The properties of a published data set; undefined for a text, whose vocabulary is known only from its file. */
function traitsOf(data: string | undefined): DatasetTraits | undefined {
  if (data === undefined || textNames.includes(data)) return undefined
  if (!datasetNames.includes(data)) throw unknownName('--data', data, datasetNames)
  return datasetTraits(data)
}

async function modelOf({ model, data, ...shapes }: Omit<ModelFlags, 'strict'>): Promise<Model | undefined> {
  if (model === undefined) {
    refuseShapes(shapes, 'also name the model of the zoo, by --model, or leave it out if the file describes its model')
    return undefined
  }
  if (!Object.hasOwn(zoo, model) && (existsSync(model) || /\.[cm]?[jt]s$/.test(model))) {
    refuseShapes(shapes, 'leave it out: the module of --model has its own shapes')
    return modelIn(model)
  }
  if (!Object.hasOwn(zoo, model)) throw unknownName('--model', model, Object.keys(zoo))
  const traits = traitsOf(data)
  const shape = { input: shapes.input ?? traits?.sample, classes: shapes.classes ?? traits?.classes }
  if (shape.input !== undefined && shape.classes !== undefined) return modelNamed(model, { input: shape.input, classes: shape.classes })
  throw invalidFlag(
    '--model',
    model,
    `also give its shapes: ${data === undefined ? '--data NAME, or ' : ''}--input SHAPE and --classes COUNT`
  )
}

/** A shape that nothing takes would be thought to be the model's. Throws INVALID_OPTION. */
function refuseShapes({ input, classes }: Pick<ModelFlags, 'input' | 'classes'>, fix: string): void {
  if (input) throw invalidFlag('--input', input.join('x'), fix)
  if (classes !== undefined) throw invalidFlag('--classes', `${classes}`, fix)
}

/** The default export of a module: a Model, or a config that has one. */
async function modelIn(path: string): Promise<Model> {
  const wanted = 'export default defineModel({ ... })'
  const given = await defaultExport(path, { parameter: '--model', wanted })
  const model = (given as { model?: unknown } | null)?.model ?? given
  if (typeof model === 'object' && model !== null && 'layers' in model) return model as Model
  throw invalidFlag('--model', path, `its default export is not a Model; ${wanted}`)
}

async function namesFrom(path: string): Promise<(name: string) => string | undefined> {
  let parsed: unknown
  try {
    parsed = JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw invalidFlag('--names', path, `it cannot be read as JSON (${messageOf(cause)})`)
  }
  const fits = typeof parsed === 'object' && parsed !== null && Object.values(parsed).every((to) => to === null || typeof to === 'string')
  if (!fits || Array.isArray(parsed)) throw invalidFlag('--names', path, 'it must be one object: {"the file\'s name": "the model\'s"}')
  const names = new Map(Object.entries(parsed as Record<string, string | null>))
  return (name) => (names.has(name) ? (names.get(name) ?? undefined) : name)
}

function normalisationOf(mean: readonly number[] | undefined, std: readonly number[] | undefined): Normalisation {
  if (!mean || !std) {
    const received = (mean ?? std ?? []).join(',')
    throw invalidFlag(mean ? '--mean' : '--std', received, 'give --mean and --std together')
  }
  if (mean.length !== std.length) throw invalidFlag('--std', std.join(','), `give ${mean.length}, as many as --mean`)
  return { mean, std }
}

/** What a file or a folder says of its normalisation holds: other numbers would have no effect. Throws INVALID_OPTION, and what opening the file throws. */
async function refuseOtherNormalisation(file: string, { mean, std }: Normalisation): Promise<void> {
  const own = await ownNormalisation(file)
  if (own === undefined || (own.mean === JSON.stringify(mean) && own.std === JSON.stringify(std))) return
  throw invalidFlag('--mean', mean.join(','), `leave it out, and --std: ${file} has its own`)
}

/** Lists in JSON, where a file has them; a folder's are not read for this. */
async function ownNormalisation(file: string): Promise<{ readonly mean?: string; readonly std?: string } | undefined> {
  if ((await stat(file).catch(() => undefined))?.isDirectory()) return {}
  await using opened = await SafetensorsFile.open(file)
  const { mean, std } = opened.metadata
  return mean !== undefined && std !== undefined ? { mean, std } : undefined
}

function means(text: string): number[] {
  return text.split(',').map(realNumber('--mean'))
}

function standardDeviations(text: string): number[] {
  const numbers = text.split(',').map(realNumber('--std'))
  if (numbers.every((number) => number > 0)) return numbers
  throw invalidFlag('--std', text, 'use numbers above 0')
}

function shapeOf(text: string): number[] {
  return shapeFromText(text, (fix) => invalidFlag('--input', text, fix)) as number[]
}
