import { existsSync } from 'node:fs'
import type { InitialOptions } from './train-options.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

const NAMES: OptionNames<InitialOptions> = { file: true, names: true, fresh: true, strict: true }

/** Weights to begin with; undefined for random ones. */
export function initialSettings(checks: OptionChecks, given: string | InitialOptions | undefined): InitialOptions | undefined {
  if (given === undefined) return undefined
  const { file, names, fresh, strict } = checks.group('initial', typeof given === 'string' ? { file: given } : given, NAMES)
  if (typeof file !== 'string') checks.refuse('initial.file', file, 'give the path of a safetensors file')
  else if (!existsSync(file)) checks.refuse('initial.file', file, 'there is no such file; name a safetensors file')
  if (names !== undefined && typeof names !== 'function' && (typeof names !== 'object' || names === null))
    checks.refuse('initial.names', names, "give a record from the file's names to the model's, or a function")
  if (fresh !== undefined && !(Array.isArray(fresh) && fresh.every((pattern) => typeof pattern === 'string')))
    checks.refuse('initial.fresh', fresh, 'give a list of layers')
  if (strict !== undefined) checks.truth('initial.strict', strict)
  return {
    file: String(file),
    ...(names !== undefined && { names }),
    ...(fresh !== undefined && { fresh }),
    ...(strict !== undefined && { strict })
  }
}
