import { ArbalestError, shown } from '../../errors.js'
import type { GptActivation } from '../../model/zoo/gpt.js'
import type { PlainObject } from '../json-file.js'

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
