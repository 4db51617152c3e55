import { existsSync } from 'node:fs'
import type { InitialWeightsOptions } from './train-options.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

const NAMES: OptionNames<InitialWeightsOptions> = { file: true, names: true, reinitialise: true, strict: true }

/** Weights to begin with; undefined for random ones. */
export function initialSettings(
  checks: OptionChecks,
  given: string | InitialWeightsOptions | undefined
): InitialWeightsOptions | undefined {
  if (given === undefined) return undefined
  const { file, names, reinitialise, strict } = checks.group('initialWeights', typeof given === 'string' ? { file: given } : given, NAMES)
  if (typeof file !== 'string') checks.refuse('initialWeights.file', file, 'give the path of a safetensors file')
  else if (!existsSync(file)) checks.refuse('initialWeights.file', file, 'there is no such file; name a safetensors file')
  if (names !== undefined && typeof names !== 'function' && (typeof names !== 'object' || names === null))
    checks.refuse('initialWeights.names', names, "give a record from the file's names to the model's, or a function")
  if (reinitialise !== undefined && !(Array.isArray(reinitialise) && reinitialise.every((pattern) => typeof pattern === 'string')))
    checks.refuse('initialWeights.reinitialise', reinitialise, 'give a list of layers')
  if (strict !== undefined) checks.truth('initialWeights.strict', strict)
  return {
    file: String(file),
    ...(names !== undefined && { names }),
    ...(reinitialise !== undefined && { reinitialise }),
    ...(strict !== undefined && { strict })
  }
}
