import { ArbalestError } from '../../errors.js'
import {
  elements,
  type Attributes,
  type ComposableKind,
  type ComposableOperators,
  type OperatorKind,
  type Operators,
  type Value,
  type ValueId
} from '../graph.js'
import type { OnnxNodes, OnnxOperator } from './onnx.js'

/**
 * What the compiler and the exporters know of a kind of operator. `A` is the type of its attributes. A file of this folder holds the rows of a family
 * of operators and the layers that are made of them; the engine's backends hold the code that runs them.
 */
export interface OperatorRow<A = Attributes> {
  /** Adds the operators that compute the gradients of its inputs. Without it the operator cannot lie between a parameter and a loss. */
  readonly gradient?: (pass: Backpropagation<A>) => void
  /** The same of a loss: gradients begin here. Each loss counts with weight 1. */
  readonly lossGradient?: (pass: Backpropagation<A>) => void
  /**
   * Floating-point operations of one run, additions and multiplications counted apart; 0 if left out, for operators that only move data. Products
   * count in full, padding included; operators that work element by element count the arithmetic of one element.
   */
  readonly flops?: (run: OperatorRun<A>) => number
  /** Outputs beside the result `y`, saved for the gradient. They are NONE where nothing is differentiated. */
  readonly saved?: (y: Shape, attributes: A) => readonly SavedOutput[]
  /** Its nodes in ONNX's operator set 17, in mode `predict`. Without it the operator cannot be exported. */
  readonly onnx?: (operator: OnnxOperator<A>) => OnnxNodes
  /** With attribute `relu` 1 it ends in max(0, .). */
  readonly endsInRelu?: true
  /** With attribute `most` besides, it ends in min(most, max(0, .)). */
  readonly endsInBoundedRelu?: true
  /** The position of the optional input that is added to its result. */
  readonly residualInput?: number
}

/** An operator in the pass backwards; `i` counts its inputs. */
export interface Backpropagation<A = Attributes> {
  readonly inputs: readonly ValueId[]
  readonly outputs: readonly ValueId[]
  readonly attributes: A
  /** The gradient of the first output: the sum over all operators that read it. */
  gradient(): ValueId
  /** The same as two summands, the second NONE where one is enough, for operators that add them themselves. */
  gradientInTwo(): readonly [ValueId, ValueId]
  /** `gradient()`, masked where the operator ended in max(0, .). */
  maskedGradient(): ValueId
  wants(i: number): boolean
  /** A new summand of input i's gradient, which the next operator writes. It is not read if the input wants no gradient. */
  contribution(i: number): ValueId
  /** The same, or NONE where the input is absent or wants no gradient. */
  optionalContribution(i: number): ValueId
  /** A value in the shape of another one, which what is emitted here writes and reads. */
  beside(suffix: string, like: ValueId): ValueId
  /** An existing value becomes a summand of input i's gradient. */
  passOn(i: number, gradient: ValueId): void
  emit(kind: OperatorKind, inputs: readonly ValueId[], outputs: readonly ValueId[], attributes?: Attributes): void
}

export type Shape = readonly number[]

/** One run of an operator: the shapes of its tensors by position, undefined for NONE. */
export interface OperatorRun<A = Attributes> {
  readonly inputs: readonly (Shape | undefined)[]
  readonly outputs: readonly (Shape | undefined)[]
  readonly attributes: A
}

/** An output that only the gradient reads. */
export interface SavedOutput {
  readonly suffix: string
  readonly shape: Shape
  readonly type: Value['type']
}

const rows = new Map<OperatorKind, OperatorRow>()
const composable = new Set<string>()

/** Adds rows to the table. */
export function defineOperators(added: { readonly [K in OperatorKind]?: OperatorRow<Operators[K]> }): void {
  for (const [kind, row] of Object.entries(added)) rows.set(kind as OperatorKind, row as OperatorRow)
}

/** Adds rows of operators that a composed layer may be built from. */
export function defineComposable(added: { readonly [K in ComposableKind]?: OperatorRow<ComposableOperators[K]> }): void {
  defineOperators(added)
  for (const kind of Object.keys(added)) composable.add(kind)
}

/** Throws INVALID_PROGRAM for an operator that has no row. */
export function operatorRow(kind: OperatorKind): OperatorRow {
  const row = rows.get(kind)
  if (row) return row
  throw new ArbalestError('INVALID_PROGRAM', `operator: received ${kind}; use one of ${[...rows.keys()].join(', ')}`, { data: { kind } })
}

/** The whole table. */
export function operatorRows(): ReadonlyMap<OperatorKind, OperatorRow> {
  return rows
}

/** The kinds that a composed layer may be built from. */
export function composableKinds(): ReadonlySet<string> {
  return composable
}

/** The gradient of an operator with one input: a backward operator that takes the values `besides` and then gy. */
export function backwardBy<A extends Attributes>(
  kind: OperatorKind,
  besides: (pass: Backpropagation<A>) => readonly ValueId[] = () => []
): (pass: Backpropagation<A>) => void {
  return (pass) => pass.emit(kind, [...besides(pass), pass.gradient()], [pass.contribution(0)], pass.attributes)
}

/** So many operations for each element of the first input. */
export function perElement(operations: number): (run: OperatorRun<unknown>) => number {
  return ({ inputs: [x] }) => operations * sizeOf(x)
}

/** The number of elements of a tensor, 0 of none. */
export function sizeOf(shape: Shape | undefined): number {
  return shape ? elements(shape) : 0
}
