import type { ArbalestError } from '../../errors.js'
import {
  NONE,
  type Attributes,
  type ComposedGradient,
  type Initialiser,
  type OperatorKind,
  type Role,
  type Value,
  type ValueId
} from '../graph.js'
import type { GraphWriter } from '../graph-writer.js'
import type { Layer } from '../layer.js'
import { operatorRow } from './table.js'
import { invalidLayer, realNumber, shapeMismatch, truth, wholeNumber } from '../layer-checks.js'

/**
 * - `train`: batch statistics, dropout, and the outputs that gradients need.
 * - `statistics`: as `train`, and the batch statistics are folded into the running ones; no gradients.
 * - `evaluate`, `predict`: running statistics, no dropout.
 */
export type Mode = 'train' | 'statistics' | 'evaluate' | 'predict'

/** What the layers of one graph share. */
export interface LayerContext {
  readonly graph: GraphWriter
  readonly mode: Mode
  /** Batch norms, whose statistics are to be folded. */
  readonly batchNorms: BatchStatistics[]
  readonly composed: ComposedGradient[]
  /** Values that stay readable by a name. */
  readonly named: Record<string, ValueId>
  /** Dropouts so far: each has a stream of random numbers of its own. */
  dropouts: number
  /** Adds layers one after another; their names begin with `prefix`. Returns their output for input x. */
  sequence(layers: readonly Layer[], x: ValueId, prefix: string): ValueId
}

/** The statistics of a batch norm: of the batch (mean, variance), and running (count, mean, variance). */
export interface BatchStatistics {
  readonly name: string
  readonly moments: readonly ValueId[]
  readonly running: readonly ValueId[]
}

/** Kernels take a smaller float for 0. */
const LEAST_EPSILON = 1e-37

interface NewValue {
  readonly role?: Role
  readonly type?: Value['type']
  readonly initialiser?: Initialiser
}

/** Writes one layer's operators: its name begins the names of values and parameters, and stands in its errors. */
export class LayerWriter {
  readonly name: string
  readonly context: LayerContext
  /** What its name and those of its neighbours begin with: empty, or ends in a dot. */
  readonly prefix: string

  constructor(name: string, context: LayerContext, prefix = '') {
    this.name = name
    this.context = context
    this.prefix = prefix
  }

  /** Whether batch norms use the statistics of the batch, and dropouts drop. */
  get learns(): boolean {
    return this.context.mode === 'train' || this.context.mode === 'statistics'
  }

  /** Whether gradients are wanted. */
  get isDifferentiated(): boolean {
    return this.context.mode === 'train'
  }

  /** The layer's own value, or with a suffix one beside it. */
  value(shape: readonly number[], suffix = '', options: NewValue = {}): ValueId {
    return this.context.graph.value(this.#named(suffix), shape, options)
  }

  parameter(suffix: string, shape: readonly number[], initialiser: Initialiser): ValueId {
    return this.value(shape, suffix, { role: 'parameter', initialiser })
  }

  /**
   * A parameter under a full name of its own where one is given, as a PyTorch module's own parameters have (`pos_embed`), else the layer's weight.
   * Throws INVALID_MODEL for a name that is none.
   */
  table(fullName: string | undefined, shape: readonly number[], initialiser: Initialiser): ValueId {
    if (fullName === undefined) return this.parameter('weight', shape, initialiser)
    if (typeof fullName !== 'string' || !/^\S+$/.test(fullName))
      throw this.invalid('parameter', fullName, 'use at least one character and no space')
    return this.context.graph.value(fullName, shape, { role: 'parameter', initialiser })
  }

  operator(
    kind: OperatorKind,
    inputs: readonly ValueId[],
    outputs: readonly ValueId[],
    { attributes = {}, suffix = '' }: { attributes?: Attributes; suffix?: string } = {}
  ): void {
    this.context.graph.operator(kind, this.#named(suffix), inputs, outputs, attributes)
  }

  /** An operator with one result of this shape, that has the layer's name, with a suffix if it is not the layer's last; it may read parameters besides x. */
  result(
    kind: OperatorKind,
    x: ValueId,
    shape: readonly number[],
    attributes: Attributes = {},
    parameters: readonly ValueId[] = [],
    suffix = ''
  ): ValueId {
    const operator = { kind, name: this.#named(suffix), inputs: [x, ...parameters], shape, attributes }
    return addOperator(this.context.graph, operator, this.isDifferentiated)
  }

  /** What is left of x when a fraction is dropped: x itself in prediction, or where none is. */
  dropped(kind: 'dropout' | 'stochasticDepth', x: ValueId, rate: number, suffix = ''): ValueId {
    if (rate === 0 || !this.learns) return x
    return this.result(kind, x, this.shape(x), { rate, stream: this.context.dropouts++ }, [], suffix)
  }

  get(value: ValueId): Value {
    return this.context.graph.get(value)
  }

  find(name: string): Value | undefined {
    return this.context.graph.find(name)
  }

  shape(x: ValueId): readonly number[] {
    return this.context.graph.get(x).shape
  }

  /** The shape of images (N, C, H, W). Throws SHAPE_MISMATCH for another input. */
  image(x: ValueId, fix: string): readonly [number, number, number, number] {
    const shape = this.shape(x)
    if (shape.length !== 4) throw this.mismatch(x, `it takes images (C, H, W): ${fix}`)
    return shape as readonly [number, number, number, number]
  }

  /** The shape of features (N, F) or (N, T, F). Throws SHAPE_MISMATCH for another input. */
  rows(x: ValueId): readonly number[] {
    const shape = this.shape(x)
    if (shape.length > 3) throw this.mismatch(x, 'it takes features (F) or (T, F): put flatten before it')
    return shape
  }

  /** The shape of sequences (N, T, F). Throws SHAPE_MISMATCH for another input. */
  sequence(x: ValueId): readonly [number, number, number] {
    const shape = this.shape(x)
    if (shape.length !== 3) throw this.mismatch(x, 'it takes a sequence (T, F)')
    return shape as readonly [number, number, number]
  }

  wholeNumber(parameter: string, value: number, least: number): number {
    return wholeNumber(this.name, parameter, value, least)
  }

  /** What keeps a normalisation from dividing by 0. */
  epsilon(value = 1e-5): number {
    return this.number('epsilon', value, `of at least ${LEAST_EPSILON}`, (epsilon) => epsilon >= LEAST_EPSILON)
  }

  /** A fraction that may be dropped. */
  fraction(parameter: string, value: unknown): number {
    return this.number(parameter, value, 'from 0 to less than 1', (fraction) => fraction >= 0 && fraction < 1)
  }

  number(parameter: string, value: unknown, wanted: string, holds: (value: number) => boolean): number {
    return realNumber(this.name, parameter, value, wanted, holds)
  }

  truth(parameter: string, value: unknown): boolean {
    return truth(this.name, parameter, value)
  }

  invalid(parameter: string, received: unknown, fix: string): ArbalestError {
    return invalidLayer(this.name, parameter, received, fix)
  }

  mismatch(x: ValueId, fix: string): ArbalestError {
    return shapeMismatch(this.name, this.shape(x).slice(1), fix)
  }

  #named(suffix: string): string {
    return suffix === '' ? this.name : `${this.name}.${suffix}`
  }
}

/** An operator with one result. */
export interface NewOperator {
  readonly kind: OperatorKind
  /** Of the operator and of its result. */
  readonly name: string
  readonly inputs: readonly ValueId[]
  /** Of the result, batch first. */
  readonly shape: readonly number[]
  readonly attributes: Attributes
}

/** Adds an operator and, if it will be differentiated, the outputs that its gradient reads; returns the result. */
export function addOperator(graph: GraphWriter, { kind, name, inputs, shape, attributes }: NewOperator, differentiated: boolean): ValueId {
  const y = graph.value(name, shape)
  const saved = (operatorRow(kind).saved?.(shape, attributes) ?? []).map(({ suffix, shape: extents, type }) =>
    differentiated ? graph.value(`${name}.${suffix}`, extents, { type }) : NONE
  )
  graph.operator(kind, name, inputs, [y, ...saved], attributes)
  return y
}
