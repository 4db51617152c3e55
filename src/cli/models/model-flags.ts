import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { messageOf, unknownName } from '../../errors.js'
import {
  datasetNames,
  datasetTraits,
  modelNamed,
  textNames,
  zoo,
  type DatasetTraits,
  type LoadModelOptions,
  type Model,
  type Normalisation
} from '../../index.js'
import { defaultExport } from '../config-file.js'
import { realNumber, refusal, wholeNumber } from '../numbers.js'

/** How the command line says which model a file holds; needed only where the file does not say itself. */
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

const DATA = `whose shapes, classes and normalisation it has: ${datasetNames.join(', ')}`

/** `data`: what --data names, where that is more than the model's own. */
export function addModelFlags(command: Command, { data = DATA }: { data?: string } = {}): Command {
  return command
    .option('--model <name>', `where the file does not say: ${Object.keys(zoo).join(', ')}, or a module that exports a Model`)
    .option('--data <name>', data)
    .option('--input <shape>', "one sample's shape, as 3,32,32", extentsOf)
    .option('--classes <count>', 'how many classes a model of the zoo tells apart', wholeNumber('--classes'))
    .option(
      '--mean <numbers>',
      "what is taken from samples in 0 to 1, channel by channel: 0.5,0.5,0.5 (ImageNet's for models of photographs)",
      means
    )
    .option('--std <numbers>', 'what they are divided by then', deviations)
    .option('--names <file>', "JSON: the file's names to the model's; null leaves a tensor out")
    .option('--reinitialise <pattern...>', 'layers that start from random weights whatever the file holds: fc, layer4.*')
    .option('--best', 'of a folder of checkpoints the one that was measured best (the newest)')
    .option('--no-strict', 'pass over tensors that are missing or left over')
}

/** Throws INVALID_OPTION and UNKNOWN_NAME. */
export async function readingOptions({ names, reinitialise, strict, best, mean, std, ...flags }: ModelFlags): Promise<LoadModelOptions> {
  const traits = traitsOf(flags.data)
  return {
    model: await modelOf(flags),
    ...(traits && { normalisation: traits, classNames: traits.classNames }),
    ...((mean ?? std) && { normalisation: bothOf(mean, std) }),
    ...(names !== undefined && { names: await namesFrom(names) }),
    ...(reinitialise && { reinitialise }),
    ...(best && { best }),
    strict
  }
}

/** What a data set's name alone says; of a text nothing is known before it is read. */
function traitsOf(data: string | undefined): DatasetTraits | undefined {
  if (data === undefined || textNames.includes(data)) return undefined
  if (!datasetNames.includes(data)) throw unknownName('--data', data, datasetNames)
  return datasetTraits(data)
}

async function modelOf({ model, data, input, classes }: Omit<ModelFlags, 'strict'>): Promise<Model | undefined> {
  if (model === undefined) return undefined
  if (!Object.hasOwn(zoo, model) && (existsSync(model) || /\.[cm]?[jt]s$/.test(model))) return modelIn(model)
  if (!Object.hasOwn(zoo, model)) throw unknownName('--model', model, Object.keys(zoo))
  const traits = traitsOf(data)
  const shape = { input: input ?? traits?.sample, classes: classes ?? traits?.classes }
  if (shape.input !== undefined && shape.classes !== undefined) return modelNamed(model, { input: shape.input, classes: shape.classes })
  throw refusal('--model', model, `say its shapes too: ${data === undefined ? '--data NAME, or ' : ''}--input SHAPE and --classes COUNT`)
}

/** A module's default export: a Model, or a config that has one. */
async function modelIn(path: string): Promise<Model> {
  const wanted = 'export default defineModel({ ... })'
  const given = await defaultExport(path, { parameter: '--model', wanted })
  const model = (given as { model?: unknown } | null)?.model ?? given
  if (typeof model === 'object' && model !== null && 'layers' in model) return model as Model
  throw refusal('--model', path, `its default export is no Model; ${wanted}`)
}

async function namesFrom(path: string): Promise<(name: string) => string | undefined> {
  let parsed: unknown
  try {
    parsed = JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw refusal('--names', path, `it cannot be read as JSON (${messageOf(cause)})`)
  }
  const fits = typeof parsed === 'object' && parsed !== null && Object.values(parsed).every((to) => to === null || typeof to === 'string')
  if (!fits || Array.isArray(parsed)) throw refusal('--names', path, 'write one object: {"the file\'s name": "the model\'s"}')
  const names = new Map(Object.entries(parsed as Record<string, string | null>))
  return (name) => (names.has(name) ? (names.get(name) ?? undefined) : name)
}

function bothOf(mean: readonly number[] | undefined, std: readonly number[] | undefined): Normalisation {
  if (!mean || !std) {
    const received = (mean ?? std ?? []).join(',')
    throw refusal(mean ? '--mean' : '--std', received, 'give --mean and --std together')
  }
  if (mean.length !== std.length) throw refusal('--std', std.join(','), `give ${mean.length}, as many as --mean`)
  return { mean, std }
}

function means(text: string): number[] {
  return text.split(',').map(realNumber('--mean'))
}

function deviations(text: string): number[] {
  const numbers = text.split(',').map(realNumber('--std'))
  if (numbers.every((number) => number > 0)) return numbers
  throw refusal('--std', text, 'use numbers above 0')
}

function extentsOf(text: string): number[] {
  const extents = text.split(/[,x]/).map(Number)
  if (extents.every((extent) => Number.isSafeInteger(extent) && extent > 0)) return extents
  throw refusal('--input', text, 'use whole numbers, as 3,32,32')
}
