import { NONE, type ComposableKind, type ComposableOperators, type Initialiser, type ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'
import { invalidLayer } from './layer-checks.js'
import { addOperator } from './operators/layer-writer.js'
import { composableKinds } from './operators/table.js'

/**
 * What a composed operator is built from: the engine's operators, with names that begin with the layer's. They have one result, which depends on their
 * inputs alone. A batch norm folds statistics, and a dropout has another meaning in prediction: they are layers beside the composed one.
 */
export interface OperatorBuilder {
  /** A value's shape, batch first. */
  shape(value: ValueId): readonly number[]
  /** A trained parameter, `<layer>.<name>`. */
  parameter(name: string, shape: readonly number[], initialiser: Initialiser): ValueId
  /**
   * Adds an operator whose result has this shape, batch first; the inputs are those of `ComposableOperators`, -1 for one that is left out. Values that
   * its gradient needs beside the result are saved for it.
   */
  add<Kind extends ComposableKind>(
    kind: Kind,
    inputs: readonly ValueId[],
    shape: readonly number[],
    attributes?: ComposableOperators[Kind]
  ): ValueId
}

/** A builder for the operator of a layer; every value gets a name of its own. It throws INVALID_MODEL for an unknown value or operator. */
export function operatorBuilder(
  writer: GraphWriter,
  { layer, prefix = layer, differentiated }: { readonly layer: string; readonly prefix?: string; readonly differentiated: boolean }
): OperatorBuilder {
  return {
    shape: (value) => writer.get(valueOf(writer, layer, 'a value', value)).shape,
    parameter: (suffix, shape, initialiser) =>
      writer.value(`${prefix}.${suffix}`, extentsOf(layer, suffix, shape), { role: 'parameter', initialiser }),
    add(kind, inputs, shape, attributes) {
      if (!composableKinds().has(kind))
        throw invalidLayer(layer, 'operator', kind, `a composed one is made of ${forwardKinds().join(', ')}`)
      if (!Array.isArray(inputs) || inputs.length === 0) throw invalidLayer(layer, kind, inputs, 'give it a list of inputs')
      const given = inputs.map((input: ValueId, i) =>
        input === NONE && i > 0 ? NONE : valueOf(writer, layer, `input ${i} of ${kind}`, input)
      )
      const name = writer.freeName(`${prefix}.${kind}`)
      return addOperator(
        writer,
        { kind, name, inputs: given, shape: extentsOf(layer, kind, shape), attributes: attributes ?? {} },
        differentiated
      )
    }
  }
}

function forwardKinds(): string[] {
  return [...composableKinds()].filter((kind) => !kind.includes('Backward')).sort()
}
/** A value that there is. */
export function valueOf(writer: GraphWriter, layer: string, subject: string, value: unknown): ValueId {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < writer.size) return value as ValueId
  throw invalidLayer(layer, subject, value, 'use a value that the builder has returned, or its input')
}

/** A shape of whole numbers. */
export function extentsOf(layer: string, subject: string, shape: unknown): readonly number[] {
  if (Array.isArray(shape) && shape.every((extent) => Number.isSafeInteger(extent) && extent > 0)) return shape as readonly number[]
  throw invalidLayer(layer, `shape of ${subject}`, shape, 'use a list of whole numbers of at least 1')
}
