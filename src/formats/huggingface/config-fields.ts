import * as v from 'valibot'
import { ArbalestError, shown } from '../../errors.js'
import type { LossName } from '../../model/operators/losses.js'
import type { GptActivation } from '../../model/zoo/gpt.js'
import { checked, type PlainObject } from '../json-file.js'

/** A number of features, layers or pixels. */
export function size(most: number) {
  return v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(most))
}

/** Refuses a config that asks for something that a model of ours does not compute. Throws UNSUPPORTED_OPERATOR. */
export function refuseUnsupported(config: PlainObject, only: PlainObject, file: string): void {
  for (const [name, value] of Object.entries(only)) {
    const found = config[name]
    if (found === undefined || found === null || found === value) continue
    const message = `${file}: ${name}: received ${shown(found)}; only ${shown(value)} is computed here: use a model with that`
    throw new ArbalestError('UNSUPPORTED_OPERATOR', message, { data: { file, parameter: name, received: found } })
  }
}

/** The names of the classes in the order of their numbers, and how many there are. Names that transformers has made up are none. */
export function classesOf({ id2label: labels, num_labels: count }: PlainObject): {
  readonly count: number
  readonly names?: readonly string[]
} {
  if (typeof labels !== 'object' || labels === null)
    return { count: Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : 2 }
  const all = Object.values(labels as Readonly<Record<string, unknown>>)
  const names = all.map((_, i) => (labels as Readonly<Record<string, unknown>>)[i])
  const are = names.every((name): name is string => typeof name === 'string')
  const made = are && names.every((name, i) => name === `LABEL_${i}`)
  return { count: Math.max(1, all.length), ...(are && !made && all.length > 0 && { names }) }
}

/** What the outputs of a head are, by the loss that it is trained with. */
const PROBLEMS: Readonly<Record<LossName, string>> = {
  softmaxCrossEntropy: 'single_label_classification',
  binaryCrossEntropy: 'multi_label_classification',
  meanSquaredError: 'regression'
}

const LOSSES = Object.keys(PROBLEMS) as LossName[]

const problem = v.looseObject({ problem_type: v.nullish(v.picklist(Object.values(PROBLEMS))) })

/** The `problem_type` of a model's config. */
export function problemOf(loss: LossName): string {
  return PROBLEMS[loss]
}

/** The loss of a head. If the config names no problem, transformers takes one output for a number, and several for the classes of a classifier. Throws DATA_CORRUPT. */
export function lossOf(config: PlainObject, outputs: number, file: string): LossName {
  const { problem_type: given } = checked(problem, config, file)
  return LOSSES.find((loss) => PROBLEMS[loss] === given) ?? (outputs === 1 ? 'meanSquaredError' : 'softmaxCrossEntropy')
}

/** Names of transformers, several for the same function; the first is the one that is written. */
const NAMES: Readonly<Record<GptActivation, readonly string[]>> = {
  geluTanh: ['gelu_new', 'gelu_pytorch_tanh', 'gelu_fast', 'gelu_accurate', 'gelu_python_tanh'],
  gelu: ['gelu', 'gelu_python'],
  relu: ['relu'],
  silu: ['silu', 'swish']
}

/** The activation that a config names in a field, the usual one if it names none. Throws UNSUPPORTED_OPERATOR for one that the model cannot have. */
export function activationOf(config: PlainObject, field: string, { file, usual, only }: Field): GptActivation {
  const name = config[field]
  if (name === undefined || name === null) return usual
  const among = only ?? (Object.keys(NAMES) as GptActivation[])
  const found = among.find((each) => NAMES[each].some((known) => known === name))
  if (found !== undefined) return found
  const message = `${file}: ${field}: received ${shown(name)}; use a model with one of ${among.flatMap((each) => NAMES[each]).join(', ')}`
  throw new ArbalestError('UNSUPPORTED_OPERATOR', message, { data: { file, parameter: field, received: name } })
}

interface Field {
  readonly file: string
  readonly usual: GptActivation
  /** Those that the model can have; all if omitted. */
  readonly only?: readonly GptActivation[]
}

/** As a config names it. */
export function nameOfActivation(activation: GptActivation): string {
  return NAMES[activation][0]!
}
