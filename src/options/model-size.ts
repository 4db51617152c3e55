import { familyOf, type GptOptions } from '../model/zoo/index.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

const SIZE: OptionNames<GptOptions> = { layers: true, heads: true, width: true, dropout: true }

/** The size of a model of the zoo; undefined where it is the usual one. */
export function modelSize(checks: OptionChecks, given: GptOptions | undefined, model: unknown): GptOptions | undefined {
  if (given === undefined) return undefined
  const size = checks.group('size', given, SIZE)
  const checkSize = typeof model === 'string' ? familyOf(model)?.checkSize : undefined
  if (checkSize) checks.attempt(() => checkSize(size, 'size.'))
  else for (const [name, value] of Object.entries(size)) checks.refuse(`size.${name}`, value, 'leave it out: only model gpt has it')
  return size
}
