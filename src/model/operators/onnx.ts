import type { Attributes } from '../graph.js'

/** An operator whose nodes are wanted, with its values by name. No layer's name has a space, so that names made with one are free. */
export interface OnnxOperator<A = Attributes> {
  readonly name: string
  /** '' where an optional input is left out. */
  readonly inputs: readonly string[]
  readonly output: string
  /** Of all inputs, batch first; [] where an optional one is left out. */
  readonly shapes: readonly (readonly number[])[]
  /** Of the output, batch first. */
  readonly result: readonly number[]
  readonly attributes: A
}

/** An operator as ONNX has it: nodes in the order in which they run, and the constants that they read as inputs. */
export interface OnnxNodes {
  readonly nodes: readonly OnnxNode[]
  /** Lists of whole numbers. */
  readonly constants?: Readonly<Record<string, readonly number[]>>
  /** Real numbers, each a tensor without axes. */
  readonly scalars?: Readonly<Record<string, number>>
  /** Tensors of real numbers. */
  readonly tables?: Readonly<Record<string, { readonly shape: readonly number[]; readonly data: Float32Array }>>
}

export interface OnnxNode {
  readonly opType: string
  readonly name: string
  readonly inputs: readonly string[]
  readonly output: string
  readonly attributes: OnnxAttributes
}

/** Numbers are whole unless `float` says otherwise. */
export type OnnxAttributes = Readonly<Record<string, number | readonly number[] | { readonly float: number } | { readonly text: string }>>

/** A single node that takes all inputs. */
export function one(opType: string, { name, inputs, output }: OnnxOperator<unknown>, attributes: OnnxAttributes = {}): OnnxNodes {
  return { nodes: [node(opType, name, inputs, output, attributes)] }
}

export function node(opType: string, name: string, inputs: readonly string[], output: string, attributes: OnnxAttributes = {}): OnnxNode {
  return { opType, name, inputs, output, attributes }
}
