import type { TensorData } from './tensor.js'

/** The element types of safetensors that JavaScript has numbers for; all others are refused. */
export const ELEMENT_TYPES = {
  F64: { bytes: 8, decode: (raw: ArrayBuffer) => new Float64Array(raw) },
  F32: { bytes: 4, decode: (raw: ArrayBuffer) => new Float32Array(raw) },
  F16: { bytes: 2, decode: (raw: ArrayBuffer) => Float32Array.from(new Uint16Array(raw), halfFloat) },
  BF16: { bytes: 2, decode: brainFloats },
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

/** A safetensors file's word for the type of a tensor's numbers. */
export type ElementTypeName = keyof typeof ELEMENT_TYPES

const WRITTEN_AS: Readonly<Record<TensorData[typeof Symbol.toStringTag], ElementTypeName>> = {
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

/** The type that an array is written as; undefined for arrays of other numbers. */
export function elementTypeOf(data: TensorData): ElementTypeName | undefined {
  return Object.hasOwn(WRITTEN_AS, data[Symbol.toStringTag]) ? WRITTEN_AS[data[Symbol.toStringTag]] : undefined
}

/** An IEEE 754 half: 1 bit of sign, 5 of exponent, 10 of fraction. */
function halfFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** The upper half of a float32. */
function brainFloats(raw: ArrayBuffer): Float32Array {
  const words = Uint32Array.from(new Uint16Array(raw), (bits) => bits << 16)
  return new Float32Array(words.buffer)
}
