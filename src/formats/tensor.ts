import { ArbalestError, invalidOption, shown } from '../errors.js'
import { elements, sameShape } from '../model/graph.js'

/** A tensor in canonical order: row-major, the last axis contiguous. */
export interface Tensor<Data extends TensorData = TensorData> {
  /** Empty for a scalar. */
  readonly shape: readonly number[]
  readonly data: Data
}

/** The elements of a tensor; float16 and bfloat16 are converted to float32 when a file is read. */
export type TensorData =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array

/** Weights or statistics by name. */
export type FloatTensors = Readonly<Record<string, Tensor<Float32Array>>>

/** Throws INVALID_OPTION if a tensor's data does not have as many elements as its shape. */
export function checkTensor(name: string, tensor: Tensor): void {
  const { shape, data } = Object(tensor) as Tensor
  const valid = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && size >= 0)
  if (!valid || !ArrayBuffer.isView(data) || elements(shape) !== data.length)
    throw invalidOption(
      `tensor ${name}`,
      `shape ${shown(shape)} of ${data?.length ?? shown(data)} numbers`,
      'give it a shape of whole numbers and a typed array with as many elements'
    )
}

/** The tensor of this name and shape. Throws UNKNOWN_NAME if there is none, SHAPE_MISMATCH if it has another shape, INVALID_OPTION. */
export function dataOf(name: string, shape: readonly number[], tensors: FloatTensors): Float32Array {
  const tensor = Object.hasOwn(tensors, name) ? tensors[name] : undefined
  if (!tensor) {
    const message = `tensors: received none with the name ${name}; give all parameters and running statistics`
    throw new ArbalestError('UNKNOWN_NAME', message, { data: { name } })
  }
  checkTensor(name, tensor)
  if (elementTypeOf(tensor.data) !== 'F32') throw invalidOption(`tensor ${name}`, tensor.data, 'use a Float32Array')
  if (sameShape(tensor.shape, shape)) return tensor.data
  const message = `tensor ${name}: received ${shown(tensor.shape)}; the model has ${shown(shape)}`
  throw new ArbalestError('SHAPE_MISMATCH', message, { data: { name, received: tensor.shape, shape } })
}

/** Copies of the parameters in a vector in canonical order, by name. */
export function parameterTensors(
  parameters: readonly { readonly name: string; readonly shape: readonly number[]; readonly canonical: number }[],
  vector: Float32Array | Float64Array
): FloatTensors {
  return Object.fromEntries(
    parameters.map(({ name, shape, canonical }) => [
      name,
      { shape, data: Float32Array.from(vector.subarray(canonical, canonical + elements(shape))) }
    ])
  )
}

/** The element types of safetensors that JavaScript has typed arrays for; files with others are refused. */
export const ELEMENT_TYPES = {
  F64: { bytes: 8, decode: (raw: ArrayBuffer) => new Float64Array(raw) },
  F32: { bytes: 4, decode: (raw: ArrayBuffer) => new Float32Array(raw) },
  F16: { bytes: 2, decode: float16ToFloat32 },
  BF16: { bytes: 2, decode: bfloat16ToFloat32 },
  I64: { bytes: 8, decode: (raw: ArrayBuffer) => new BigInt64Array(raw) },
  I32: { bytes: 4, decode: (raw: ArrayBuffer) => new Int32Array(raw) },
  I16: { bytes: 2, decode: (raw: ArrayBuffer) => new Int16Array(raw) },
  I8: { bytes: 1, decode: (raw: ArrayBuffer) => new Int8Array(raw) },
  U64: { bytes: 8, decode: (raw: ArrayBuffer) => new BigUint64Array(raw) },
  U32: { bytes: 4, decode: (raw: ArrayBuffer) => new Uint32Array(raw) },
  U16: { bytes: 2, decode: (raw: ArrayBuffer) => new Uint16Array(raw) },
  U8: { bytes: 1, decode: (raw: ArrayBuffer) => new Uint8Array(raw) },
  BOOL: { bytes: 1, decode: (raw: ArrayBuffer) => new Uint8Array(raw) }
} as const satisfies Record<string, { readonly bytes: number; readonly decode: (raw: ArrayBuffer) => TensorData }>

/** An element type by the name that safetensors gives it. */
export type ElementTypeName = keyof typeof ELEMENT_TYPES

const NAME_BY_ARRAY: Readonly<Record<TensorData[typeof Symbol.toStringTag], ElementTypeName>> = {
  Float64Array: 'F64',
  Float32Array: 'F32',
  BigInt64Array: 'I64',
  Int32Array: 'I32',
  Int16Array: 'I16',
  Int8Array: 'I8',
  BigUint64Array: 'U64',
  Uint32Array: 'U32',
  Uint16Array: 'U16',
  Uint8Array: 'U8'
}

/** The element type that a typed array is written as; undefined for arrays that safetensors has no type for. */
export function elementTypeOf(data: TensorData): ElementTypeName | undefined {
  return Object.hasOwn(NAME_BY_ARRAY, data[Symbol.toStringTag]) ? NAME_BY_ARRAY[data[Symbol.toStringTag]] : undefined
}

/** The numbers of all 65,536 float16: looking them up takes a thirtieth of the time that computing them does. */
let float16Numbers: Float32Array | undefined

function float16ToFloat32(raw: ArrayBuffer): Float32Array {
  float16Numbers ??= new Float32Array(2 ** 16).map((_, bits) => float16ToNumber(bits))
  const bits = new Uint16Array(raw)
  const numbers = new Float32Array(bits.length)
  for (let i = 0; i < bits.length; i++) numbers[i] = float16Numbers[bits[i]!]!
  return numbers
}

/** IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction. */
function float16ToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** bfloat16 is the upper half of a float32. */
function bfloat16ToFloat32(raw: ArrayBuffer): Float32Array {
  const bits = new Uint16Array(raw)
  // Uint32Array.from would take fifteen times as long.
  const words = new Uint32Array(bits.length)
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16
  return new Float32Array(words.buffer)
}
