import * as v from 'valibot'
import { ArbalestError, shown } from '../../errors.js'
import type { PlainObject } from '../json-file.js'

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
