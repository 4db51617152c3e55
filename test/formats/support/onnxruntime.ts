import { InferenceSession, Tensor } from 'onnxruntime-node'

/** What ONNX Runtime makes of a model's `input` (count, ...sample): its `output`. */
export async function runOnnx(
  file: string | Uint8Array,
  input: Float32Array | Int32Array,
  shape: readonly number[]
): Promise<{ shape: readonly number[]; data: Float32Array }> {
  const options: InferenceSession.SessionOptions = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3 }
  const session = typeof file === 'string' ? await InferenceSession.create(file, options) : await InferenceSession.create(file, options)
  try {
    const { output } = await session.run({ input: tensorOf(input, shape) })
    return { shape: output!.dims, data: output!.data as Float32Array }
  } finally {
    await session.release()
  }
}

/** Tokens are 64 bits wide there. */
function tensorOf(input: Float32Array | Int32Array, shape: readonly number[]): Tensor {
  return input instanceof Int32Array ? new Tensor('int64', BigInt64Array.from(input, BigInt), shape) : new Tensor('float32', input, shape)
}

/** The largest difference of two outputs, as a share of the largest of them. */
export function distance(found: ArrayLike<number>, wanted: ArrayLike<number>): number {
  let difference = 0
  let largest = 0
  for (let i = 0; i < wanted.length; i++) {
    difference = Math.max(difference, Math.abs(found[i]! - wanted[i]!))
    largest = Math.max(largest, Math.abs(wanted[i]!))
  }
  return found.length === wanted.length ? difference / largest : Infinity
}
