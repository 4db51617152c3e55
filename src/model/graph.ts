/**
 * The Graph: a model's operators with every shape known. Plain data, in an order in which they can run.
 *
 * Batch comes first in every activation: images are (N, C, H, W), features (N, F), sequences of features (N, T, F) and of tokens (N, T).
 * Weights are in PyTorch's order: convolution (O, I/groups, KH, KW), linear (O, F), embedding (tokens, F).
 */

/** What a value is to the computation; placement and layout follow from it. */
export type Role =
  /** The samples of a batch, written by `load` or by the caller. */
  | 'input'
  /** What the samples should give: class numbers (N) or (N, T), or a tensor. */
  | 'target'
  /** Trained, and a slice of the flat parameter vector. */
  | 'parameter'
  /** The gradient of a parameter, named `<parameter>.gradient`; lies where its parameter lies, in a vector of its own. */
  | 'parameterGradient'
  /** Kept from step to step and not trained: batch-norm statistics. */
  | 'statistic'
  /** Everything else: it lives from its writer to its last reader. */
  | 'activation'

/** A value of a Graph by its place among them. */
export type ValueId = number

/** The label of a position that counts for nothing: not in the loss, its gradient or a measurement. Only samples with several labels have it. */
export const NO_CLASS = -1

/** An operator's missing optional input or unwanted output. */
export const NONE: ValueId = -1

export interface Value {
  readonly id: ValueId
  /** Unique within its graph: `conv1.weight`, `block2.0.relu`. */
  readonly name: string
  readonly shape: readonly number[]
  readonly role: Role
  /**
   * Class numbers and positions are integers; `statistic` is what must stay exact in low precision (batch-norm statistics, losses);
   * all else is the precision of the program.
   */
  readonly type: 'float' | 'integer' | 'position' | 'statistic'
  /** Of a parameter: it gets no gradient and is never updated. */
  readonly frozen?: true
  /** Of a parameter: the number, from 1 on, of the optimiser's group that it belongs to, if it belongs to one. */
  readonly group?: number
  /** How a parameter gets its first values, before the seed. */
  readonly initialiser?: Initialiser
}

/** Where a parameter's first values come from. Fan-in is the number of inputs of one output. */
export type Initialiser =
  | { readonly kind: 'constant'; readonly value: number }
  /** Uniform in [mean - bound, mean + bound]; the mean is 0 if left out, here and below. */
  | { readonly kind: 'uniform'; readonly bound: number; readonly mean?: number }
  | { readonly kind: 'normal'; readonly std: number; readonly mean?: number }
  /** Normal, drawn again where it is more than `bound` deviations from the mean. */
  | { readonly kind: 'truncatedNormal'; readonly std: number; readonly mean?: number; readonly bound: number }

/**
 * The operators that a composed layer may be built from, each with its attributes: they have one result, which depends on their inputs alone. The
 * files of `operators/` declare them, with their inputs and outputs by position; `?` marks one that may be NONE.
 *
 * `relu` as an attribute means that the operator ends in max(0, .); a backward operator then masks gy by y > 0 first.
 */
export interface ComposableOperators {}

/** Every operator that an engine runs, with its attributes. */
export interface Operators extends ComposableOperators {}

/** The name of an operator of a Graph. */
export type OperatorKind = keyof Operators
/** The name of an operator that a composed operator may be built from. */
export type ComposableKind = keyof ComposableOperators

/** What an operator is told beside its inputs. */
export type Attributes = Readonly<Record<string, number | readonly number[]>>
export type NoAttributes = Readonly<Record<never, never>>

export interface Operator {
  readonly kind: OperatorKind
  /** The layer that it came from: `block2.0.conv1`. */
  readonly name: string
  readonly inputs: readonly ValueId[]
  readonly outputs: readonly ValueId[]
  readonly attributes: Attributes
}

export interface Graph {
  readonly name: string
  readonly batch: number
  /** Indexed by id. */
  readonly values: readonly Value[]
  readonly operators: readonly Operator[]
  /** Values that stay readable by these names: `input`, `target`, `output`, `loss`, `correct`, and every statistic by its own. */
  readonly named: Readonly<Record<string, ValueId>>
  /** Composed layers whose gradient is not that of their operators. */
  readonly composed?: readonly ComposedGradient[]
}

/** A composed layer whose module brings the gradient between the named values `<layer>.input` and `<layer>.output`. */
export interface ComposedGradient {
  readonly layer: string
  /** Address of the module, which the thread that differentiates has loaded. */
  readonly module: string
  readonly options: unknown
}

/** The number of elements of a tensor. */
export function elements(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1)
}

/** Whether two shapes have the same extents. */
export function sameShape(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((extent, axis) => extent === other[axis])
}

/** The parameters in the model's order: the order of the canonical vector. */
export function parametersOf(graph: Graph): readonly Value[] {
  return graph.values.filter((value) => value.role === 'parameter')
}

/** Whether a pattern stands for a parameter: the name of it, or of the layer that has it, where `*` stands for any characters. */
export function namesParameter(pattern: string): (name: string) => boolean {
  const escaped = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '.*')
  const expression = new RegExp(`^${escaped}(\\..*)?$`)
  return (name) => expression.test(name)
}

/** The names of the layers that have parameters, for messages. */
export function layersOf(parameters: readonly { readonly name: string }[]): ReadonlySet<string> {
  return new Set(parameters.map(({ name }) => name.split('.')[0]!))
}
