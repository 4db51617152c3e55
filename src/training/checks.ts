import { invalidOption } from '../errors.js'

/** A whole number from `least` to `most`. Throws INVALID_OPTION. */
export function whole(parameter: string, value: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number
  const upTo = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  throw invalidOption(parameter, value, `use a whole number ${upTo}`)
}

/** A number for which `holds`, said in words by `range`. Throws INVALID_OPTION. */
export function real(parameter: string, value: unknown, range: string, holds: (value: number) => boolean): number {
  if (typeof value === 'number' && Number.isFinite(value) && holds(value)) return value
  throw invalidOption(parameter, value, `use a number ${range}`)
}

/** Throws INVALID_OPTION for a key that means nothing: a slip of the pen must not train with a default in silence. */
export function onlyKeys(parameter: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null) throw invalidOption(parameter, value, `give an object with some of ${known.join(', ')}`)
  for (const key of Object.keys(value)) {
    if (!known.includes(key))
      throw invalidOption(`${parameter}.${key}`, (value as Record<string, unknown>)[key], `use only ${known.join(', ')}`)
  }
}
