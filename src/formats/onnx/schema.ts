import { createRequire } from 'node:module'
import type protobuf from 'protobufjs/light.js'
import type { OnnxNode } from '../../model/operators/onnx.js'

/**
 * The messages of ONNX's protocol (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto) that an exported model needs, with their field numbers.
 */
const MESSAGES = {
  ModelProto: {
    irVersion: ['int64', 1],
    producerName: ['string', 2],
    graph: ['GraphProto', 7],
    opsetImport: ['OperatorSetIdProto', 8, 'repeated'],
    metadataProps: ['StringStringEntryProto', 14, 'repeated']
  },
  StringStringEntryProto: { key: ['string', 1], value: ['string', 2] },
  OperatorSetIdProto: { version: ['int64', 2] },
  GraphProto: {
    node: ['NodeProto', 1, 'repeated'],
    name: ['string', 2],
    initializer: ['TensorProto', 5, 'repeated'],
    input: ['ValueInfoProto', 11, 'repeated'],
    output: ['ValueInfoProto', 12, 'repeated']
  },
  NodeProto: {
    input: ['string', 1, 'repeated'],
    output: ['string', 2, 'repeated'],
    name: ['string', 3],
    opType: ['string', 4],
    attribute: ['AttributeProto', 5, 'repeated']
  },
  AttributeProto: {
    name: ['string', 1],
    f: ['float', 2],
    i: ['int64', 3],
    s: ['bytes', 4],
    ints: ['int64', 8, 'repeated'],
    type: ['int32', 20]
  },
  TensorProto: {
    dims: ['int64', 1, 'repeated'],
    dataType: ['int32', 2],
    name: ['string', 8],
    rawData: ['bytes', 9]
  },
  ValueInfoProto: { name: ['string', 1], type: ['TypeProto', 2], docString: ['string', 3] },
  TypeProto: { tensorType: ['TensorTypeProto', 1] },
  TensorTypeProto: { elemType: ['int32', 1], shape: ['TensorShapeProto', 2] },
  TensorShapeProto: { dim: ['DimensionProto', 1, 'repeated'] },
  DimensionProto: { dimValue: ['int64', 1], dimParam: ['string', 2] }
} as const

export const ELEMENT_TYPE = { float: 1, int64: 7 } as const
const ATTRIBUTE_TYPE = { float: 1, int: 2, text: 3, ints: 7 } as const

export interface TensorProto {
  readonly name: string
  readonly dims: readonly number[]
  readonly dataType: number
  readonly rawData: Uint8Array
}

interface AttributeProto {
  readonly name: string
  readonly type: number
  readonly f?: number
  readonly i?: number
  readonly s?: Uint8Array
  readonly ints?: readonly number[]
}

export interface NodeProto {
  readonly opType: string
  readonly name: string
  /** '' stands for an omitted optional input. */
  readonly input: readonly string[]
  readonly output: readonly string[]
  readonly attribute: readonly AttributeProto[]
}

export interface ValueInfoProto {
  readonly name: string
  readonly docString?: string
  readonly type: {
    readonly tensorType: {
      readonly elemType: number
      readonly shape: { readonly dim: readonly ({ readonly dimValue: number } | { readonly dimParam: string })[] }
    }
  }
}

export interface ModelProto {
  readonly irVersion: number
  readonly producerName: string
  /** An empty domain is that of ONNX's own operators. */
  readonly opsetImport: readonly { readonly version: number }[]
  readonly metadataProps: readonly { readonly key: string; readonly value: string }[]
  readonly graph: {
    readonly name: string
    readonly node: readonly NodeProto[]
    readonly initializer: readonly TensorProto[]
    readonly input: readonly ValueInfoProto[]
    readonly output: readonly ValueInfoProto[]
  }
}

let message: protobuf.Type | undefined

/** The root message of a file. Its library is loaded at the first call: loading it takes longer than the rest of the formats. */
export function modelMessage(): protobuf.Type {
  if (message) return message
  const { Root } = createRequire(import.meta.url)('protobufjs/light.js') as typeof protobuf
  const nested = Object.entries(MESSAGES).map(([name, given]) => {
    const fields = Object.entries(given as Readonly<Record<string, readonly [string, number, string?]>>)
    return [name, { fields: Object.fromEntries(fields.map(([field, [type, id, rule]]) => [field, { type, id, ...(rule && { rule }) }])) }]
  })
  message = Root.fromJSON({ nested: Object.fromEntries(nested) }).lookupType('ModelProto')
  return message
}

/** Removes the names of omitted trailing inputs. */
export function nodeProto({ opType, name, inputs, output, attributes }: OnnxNode): NodeProto {
  const last = inputs.findLastIndex((input) => input !== '')
  const attribute = Object.entries(attributes).map(([key, value]): AttributeProto => {
    if (typeof value === 'number') return { name: key, type: ATTRIBUTE_TYPE.int, i: value }
    if ('float' in value) return { name: key, type: ATTRIBUTE_TYPE.float, f: value.float }
    if ('text' in value) return { name: key, type: ATTRIBUTE_TYPE.text, s: Buffer.from(value.text) }
    return { name: key, type: ATTRIBUTE_TYPE.ints, ints: value }
  })
  return { opType, name, input: inputs.slice(0, last + 1), output: [output], attribute }
}

export function encodeModel(proto: ModelProto): Uint8Array {
  return modelMessage().encode(proto).finish()
}
