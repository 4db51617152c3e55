import { readFileSync, statSync } from 'node:fs'
import * as v from 'valibot'
import { shown } from '../errors.js'
import { corruptFile, unreadableFile } from './file-errors.js'
import { parseStrictJson, plainJson } from './strict-json.js'

/** What a JSON file may have at most, so that a forged one takes bounded time and memory. */
export interface JsonLimits {
  readonly bytes: number
  readonly values: number
}

/** Of a file that describes something, as against one with a vocabulary. */
const SMALL: JsonLimits = { bytes: 2 ** 24, values: 2 ** 19 }

/** Deeper than any description that people write. */
const DEPTH = 64

export type PlainObject = Readonly<Record<string, unknown>>

/** The text of a file in UTF-8 of at most so many bytes. Throws DATA_NOT_FOUND, DATA_CORRUPT. */
export function readText(path: string, most: number = SMALL.bytes): string {
  let bytes: Uint8Array
  try {
    const found = statSync(path)
    // Opening a pipe would block until it has a writer.
    if (!found.isFile()) throw new Error('not a file')
    if (found.size > most) throw corruptFile(path, { expected: `at most ${most} bytes`, found: `${found.size}` })
    bytes = readFileSync(path)
  } catch (cause) {
    if (cause instanceof Error && 'data' in cause) throw cause
    throw unreadableFile(path, cause)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw corruptFile(path, { expected: 'UTF-8', found: 'other bytes', cause })
  }
}

/** The object that a text in JSON has. Throws DATA_CORRUPT; `file` names its origin. */
export function parseObject(text: string, file: string, { values }: Pick<JsonLimits, 'values'> = SMALL): PlainObject {
  let value: unknown
  try {
    value = plainJson(parseStrictJson(text, { depth: DEPTH, values }))
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    const [expected, found] = cause.message.split(', found ')
    throw corruptFile(file, { expected: `JSON, ${expected}`, found: found ?? 'something else', cause })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as PlainObject
  throw corruptFile(file, { expected: 'an object in JSON', found: shown(value) })
}

/** The object of a JSON file. Throws DATA_NOT_FOUND, DATA_CORRUPT. */
export function readObject(path: string, limits: JsonLimits = SMALL): PlainObject {
  return parseObject(readText(path, limits.bytes), path, limits)
}

/** What a schema makes of an object of a file. Throws DATA_CORRUPT that names the first member at fault, and `fix` if another copy would not help. */
export function checked<Output>(schema: v.GenericSchema<unknown, Output>, value: unknown, file: string, fix?: string): Output {
  const parsed = v.safeParse(schema, value)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw corruptFile(file, {
    where: v.getDotPath(issue) ?? 'the object',
    expected: issue.expected ?? 'another value',
    found: shown(issue.input),
    ...(fix !== undefined && { fix })
  })
}
