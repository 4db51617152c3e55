import { invalidOption, shown } from '../errors.js'
import { elements } from '../model/graph.js'

/** A tensor in canonical order: row-major, the last extent running fastest. */
export interface Tensor<Data extends TensorData = TensorData> {
  /** Empty for a single number. */
  readonly shape: readonly number[]
  readonly data: Data
}

/** The elements of a tensor; float16 and bfloat16 are read as float32. */
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

/** Throws INVALID_OPTION where a tensor's data does not fill its shape. */
export function checkTensor(name: string, { shape, data }: Tensor): void {
  const whole = Array.isArray(shape) && shape.every((extent) => Number.isSafeInteger(extent) && extent >= 0)
  if (!whole || !ArrayBuffer.isView(data) || elements(shape) !== data.length)
    throw invalidOption(
      `tensor ${name}`,
      `shape ${shown(shape)} of ${data?.length ?? shown(data)} numbers`,
      'give it a shape of whole numbers and a typed array that fills it'
    )
}
