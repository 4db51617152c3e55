import { modelMessage, type ModelProto } from '../../../src/formats/onnx/schema.js'

/** An ONNX file's message; 64-bit numbers come as numbers. Throws for bytes that are no such message. */
export function decodeModel(bytes: Uint8Array): ModelProto {
  return modelMessage().toObject(modelMessage().decode(bytes), { longs: Number, arrays: true }) as ModelProto
}
