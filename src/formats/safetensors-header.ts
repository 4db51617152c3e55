import { shown } from '../errors.js'
import { ELEMENT_TYPES, type ElementTypeName } from './tensor.js'
import { corruptFile } from './file-errors.js'
import { parseStrictJson, type JsonObject, type JsonValue } from './strict-json.js'

/** Type, shape and position of a tensor in the file. */
export interface TensorEntry {
  readonly type: ElementTypeName
  readonly shape: readonly number[]
  /** In bytes from the start of the data, which follows the header. */
  readonly begin: number
  readonly end: number
}

/** The checked header of a safetensors file. */
export interface SafetensorsHeader {
  readonly metadata: Readonly<Record<string, string>>
  /** In the order of the header. */
  readonly tensors: ReadonlyMap<string, TensorEntry>
}

/** The only member of the header that is not a tensor. */
export const METADATA = '__metadata__'

/** The header's object, a tensor's object, and its lists. */
const MAX_DEPTH = 3

/**
 * Parses a header and checks all of it against the `dataBytes` that follow: valid JSON, unique names, the byte count of every tensor equal
 * to that of its shape and type, and tensors that fill the data without gaps or overlaps. Throws DATA_CORRUPT with the file and the tensor.
 */
export function parseHeader(bytes: Uint8Array, dataBytes: number, file: string): SafetensorsHeader {
  const members = asObject(parseJson(bytes, file))
  if (!members) throw corruptFile(file, { where: 'header', expected: 'a JSON object', found: 'another JSON value' })
  const tensors = new Map<string, TensorEntry>()
  for (const [name, member] of members) if (name !== METADATA) tensors.set(name, entryOf(member, name, file))
  checkCoverage(tensors, dataBytes, file)
  return { metadata: metadataOf(members.get(METADATA), file), tensors }
}

function parseJson(bytes: Uint8Array, file: string): JsonValue {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw corruptFile(file, { where: 'header', expected: 'UTF-8', found: 'other bytes', cause })
  }
  try {
    return parseStrictJson(text, { depth: MAX_DEPTH })
  } catch (cause) {
    const [expected, found] = (cause as SyntaxError).message.split(', found ')
    throw corruptFile(file, { where: 'header', expected: expected!, found: found ?? 'invalid JSON', cause })
  }
}

function metadataOf(value: JsonValue | undefined, file: string): Readonly<Record<string, string>> {
  if (value === undefined) return {}
  const members = asObject(value)
  if (!members) throw corruptFile(file, { where: METADATA, expected: 'an object of strings', found: shown(value) })
  for (const [key, text] of members)
    if (typeof text !== 'string')
      throw corruptFile(file, { where: `${METADATA}: ${shown(key)}`, expected: 'a string', found: shownJson(text) })
  return Object.fromEntries(members as ReadonlyMap<string, string>)
}

function entryOf(member: JsonValue, name: string, file: string): TensorEntry {
  const where = `tensor ${shown(name)}`
  const fields = asObject(member)
  if (!fields) throw corruptFile(file, { where, expected: 'an object with dtype, shape and data_offsets', found: shownJson(member) })
  const type = fields.get('dtype')
  if (typeof type !== 'string' || !Object.hasOwn(ELEMENT_TYPES, type))
    throw corruptFile(file, {
      where: `${where}: dtype`,
      expected: `one of ${Object.keys(ELEMENT_TYPES).join(', ')}`,
      found: shownJson(type)
    })
  const shape = wholeNumbers(fields.get('shape'))
  if (!shape)
    throw corruptFile(file, { where: `${where}: shape`, expected: 'a list of whole numbers', found: shownJson(fields.get('shape')) })
  const [begin, end, ...more] = wholeNumbers(fields.get('data_offsets')) ?? []
  if (begin === undefined || end === undefined || more.length > 0 || begin > end)
    throw corruptFile(file, {
      where: `${where}: data_offsets`,
      expected: 'two whole numbers, the second at least as large as the first',
      found: shownJson(fields.get('data_offsets'))
    })
  const bytes = shape.reduce((product, extent) => product * extent, ELEMENT_TYPES[type as ElementTypeName].bytes)
  if (bytes !== end - begin)
    throw corruptFile(file, { where, expected: `${bytes} bytes for ${type} ${shown(shape)}`, found: `${end - begin} bytes` })
  return { type: type as ElementTypeName, shape, begin, end }
}

function checkCoverage(tensors: ReadonlyMap<string, TensorEntry>, dataBytes: number, file: string): void {
  let covered = 0
  const inOrder = [...tensors].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end)
  for (const [name, { begin, end }] of inOrder) {
    if (begin !== covered)
      throw corruptFile(file, {
        where: `tensor ${shown(name)}`,
        expected: `byte ${covered}, the end of the tensor before it`,
        found: `a start at byte ${begin} of the data`
      })
    covered = end
  }
  if (covered !== dataBytes)
    throw corruptFile(file, { where: 'data', expected: `${covered}, the sum of its tensors`, found: `${dataBytes} bytes` })
}

function asObject(value: JsonValue): JsonObject | undefined {
  return value instanceof Map ? value : undefined
}

function wholeNumbers(value: JsonValue | undefined): readonly number[] | undefined {
  if (!Array.isArray(value)) return undefined
  const numbers = value as readonly JsonValue[]
  return numbers.every((number) => Number.isSafeInteger(number) && (number as number) >= 0) ? (numbers as readonly number[]) : undefined
}

function shownJson(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing'
  return value instanceof Map ? 'an object' : shown(value)
}
