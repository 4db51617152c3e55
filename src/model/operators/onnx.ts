import { ArbalestError } from '../../errors.js'
import { NONE, type Attributes, type Graph, type Operator } from '../graph.js'
import { operatorRow } from './table.js'

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

/**
 * Converts an operator of a forward Graph in mode `predict` to nodes of ONNX's operator set 17; `nameOf` returns the names of its values. Throws
 * UNSUPPORTED_OPERATOR for an operator with a fused ReLU or sum, and for the operators of training.
 */
export function onnxNodes(
  { kind, name, inputs, outputs, attributes }: Operator,
  { values }: Graph,
  nameOf: (id: number) => string
): OnnxNodes {
  const { onnx, residualInput } = operatorRow(kind)
  const isFused = attributes['relu'] === 1 || (residualInput !== undefined && inputs[residualInput] !== NONE)
  if (!onnx || isFused)
    throw new ArbalestError(
      'UNSUPPORTED_OPERATOR',
      `operator ${name}: ${kind}${isFused ? ' fused with its neighbours' : ''} has no ONNX form; export the graph of mode predict as it is built`
    )
  return onnx({
    name,
    inputs: inputs.map(nameOf),
    output: nameOf(outputs[0]!),
    shapes: inputs.map((id) => (id === NONE ? [] : values[id]!.shape)),
    result: values[outputs[0]!]!.shape,
    attributes
  })
}
