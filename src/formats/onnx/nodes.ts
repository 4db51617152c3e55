import { ArbalestError } from '../../errors.js'
import { NONE, type Graph, type Operator } from '../../model/graph.js'
import type { OnnxNodes } from '../../model/operators/onnx.js'
import { operatorRow } from '../../model/operators/table.js'

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
