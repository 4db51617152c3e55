import type { Attributes } from '../../model/graph.js'
import type { Tensor } from '../tensor.js'
import { ATTRIBUTE_TYPE, type AttributeProto, type NodeProto } from './schema.js'

/** What an operator becomes: nodes in the order in which they run, and the constants that they read as inputs. */
export interface OnnxNodes {
  readonly nodes: readonly NodeProto[]
  readonly constants?: Readonly<Record<string, readonly number[]>>
  /** Real numbers that they read, each a tensor without axes. */
  readonly scalars?: Readonly<Record<string, number>>
  /** Tensors of real numbers that they read. */
  readonly tables?: Readonly<Record<string, Tensor<Float32Array>>>
}

/** An operator with its values by name. No layer's name has a space, so that names made with one are free. */
export interface Site {
  readonly name: string
  /** '' where an optional input is left out. */
  readonly inputs: readonly string[]
  readonly output: string
  /** Of the first input, the batch first. */
  readonly shape: readonly number[]
  /** Of the output, the batch first. */
  readonly result: readonly number[]
  /** Of all inputs; [] where an optional one is left out. */
  readonly shapes: readonly (readonly number[])[]
  readonly attributes: Attributes
}

export type Rule = (site: Site) => OnnxNodes

export type AttributeValue = number | readonly number[] | { readonly float: number }

export function one(opType: string, { name, inputs, output }: Site, attributes: Readonly<Record<string, AttributeValue>> = {}): OnnxNodes {
  return { nodes: [node(opType, name, inputs, output, attributes)] }
}

/** Trailing inputs that are left out are not named at all. */
export function node(
  opType: string,
  name: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, AttributeValue>> = {}
): NodeProto {
  const last = inputs.findLastIndex((input) => input !== '')
  const attribute = Object.entries(attributes).map(([key, value]) => attributeProto(key, value))
  return { opType, name, input: inputs.slice(0, last + 1), output: [output], attribute }
}

function attributeProto(name: string, value: AttributeValue): AttributeProto {
  if (typeof value === 'number') return { name, type: ATTRIBUTE_TYPE.int, i: value }
  return 'float' in value ? { name, type: ATTRIBUTE_TYPE.float, f: value.float } : { name, type: ATTRIBUTE_TYPE.ints, ints: value }
}

export function float(value: number): AttributeValue {
  return { float: value }
}

export function number({ attributes }: Site, name: string): number {
  return attributes[name] as number
}
