import { shown } from '../errors.js'
import { ELEMENT_TYPES, type ElementTypeName } from './element-types.js'
import { corruptFile } from './faults.js'
import { parseStrictJson, type JsonObject, type JsonValue } from './strict-json.js'

/** A tensor's place in the file. */
export interface TensorEntry {
  readonly type: ElementTypeName
  readonly shape: readonly number[]
  /** Bytes from the start of the data, which follows the header. */
  readonly begin: number
  readonly end: number
}

/** What a safetensors file says of itself. */
export interface SafetensorsHeader {
  readonly metadata: Readonly<Record<string, string>>
  /** In the order in which the header names them. */
  readonly tensors: ReadonlyMap<string, TensorEntry>
}

/** The member of the header that is no tensor. */
export const METADATA = '__metadata__'

/** The header's braces, a tensor's, and its lists. */
const DEPTH = 3

/**
 * Checks a header whole against the `dataBytes` that follow it: JSON of known shape, no name twice, every tensor's bytes as many as its
 * shape and type say, no two overlapping, nothing between them and nothing after. Throws DATA_CORRUPT with the file and the tensor.
 */
export function parseHeader(bytes: Uint8Array, dataBytes: number, file: string): SafetensorsHeader {
  const members = object(parseJson(bytes, file))
  if (!members) throw corruptFile(file, 'header', 'no JSON object', 'a JSON object')
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
    throw corruptFile(file, 'header', 'other bytes', 'UTF-8', cause)
  }
  try {
    return parseStrictJson(text, { depth: DEPTH })
  } catch (cause) {
    const [expected, found] = (cause as SyntaxError).message.split(', found ')
    throw corruptFile(file, 'header', found ?? 'no JSON', expected!, cause)
  }
}

function metadataOf(value: JsonValue | undefined, file: string): Readonly<Record<string, string>> {
  if (value === undefined) return {}
  const members = object(value)
  if (!members) throw corruptFile(file, METADATA, shown(value), 'an object of strings')
  for (const [key, text] of members)
    if (typeof text !== 'string') throw corruptFile(file, `${METADATA}: ${shown(key)}`, shownJson(text), 'a string')
  return Object.fromEntries(members as ReadonlyMap<string, string>)
}

function entryOf(member: JsonValue, name: string, file: string): TensorEntry {
  const where = `tensor ${shown(name)}`
  const fields = object(member)
  if (!fields) throw corruptFile(file, where, shownJson(member), 'an object with dtype, shape and data_offsets')
  const type = fields.get('dtype')
  if (typeof type !== 'string' || !Object.hasOwn(ELEMENT_TYPES, type))
    throw corruptFile(file, `${where}: dtype`, shownJson(type), `one of ${Object.keys(ELEMENT_TYPES).join(', ')}`)
  const shape = wholeNumbers(fields.get('shape'))
  if (!shape) throw corruptFile(file, `${where}: shape`, shownJson(fields.get('shape')), 'a list of whole numbers')
  const [begin, end, ...more] = wholeNumbers(fields.get('data_offsets')) ?? []
  if (begin === undefined || end === undefined || more.length > 0 || begin > end)
    throw corruptFile(
      file,
      `${where}: data_offsets`,
      shownJson(fields.get('data_offsets')),
      'two whole numbers, the first not above the second'
    )
  const bytes = shape.reduce((product, extent) => product * extent, ELEMENT_TYPES[type as ElementTypeName].bytes)
  if (bytes !== end - begin) throw corruptFile(file, where, `${end - begin} bytes`, `${bytes} bytes, as ${type} ${shown(shape)} has`)
  return { type: type as ElementTypeName, shape, begin, end }
}

function checkCoverage(tensors: ReadonlyMap<string, TensorEntry>, dataBytes: number, file: string): void {
  let covered = 0
  const inOrder = [...tensors].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end)
  for (const [name, { begin, end }] of inOrder) {
    if (begin !== covered)
      throw corruptFile(
        file,
        `tensor ${shown(name)}`,
        `a start at byte ${begin} of the data`,
        `byte ${covered}, where the one before it ends`
      )
    covered = end
  }
  if (covered !== dataBytes) throw corruptFile(file, 'data', `${dataBytes} bytes`, `${covered}, as its tensors take`)
}

function object(value: JsonValue): JsonObject | undefined {
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
