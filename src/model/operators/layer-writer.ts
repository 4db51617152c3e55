import type { ArbalestError } from '../../errors.js'
import { addOperator } from '../further-outputs.js'
import type { Attributes, Initialiser, OperatorKind, Role, Value, ValueId } from '../graph.js'
import type { GraphWriter } from '../graph-writer.js'
import { invalidLayer, realNumber, shapeMismatch, truth, wholeNumber } from '../layer-checks.js'

/**
 * - `train`: batch statistics, dropout, what the gradients need is kept.
 * - `statistics`: as `train`, and the batch statistics are folded into the running ones; no gradients.
 * - `evaluate`, `predict`: running statistics, no dropout.
 */
export type Mode = 'train' | 'statistics' | 'evaluate' | 'predict'

interface NewValue {
  readonly role?: Role
  readonly type?: Value['type']
  readonly initialiser?: Initialiser
}

/** Writes one layer's operators: values, parameters and errors bear its name. */
export class LayerWriter {
  readonly name: string
  readonly mode: Mode
  readonly #graph: GraphWriter

  constructor(graph: GraphWriter, mode: Mode, name: string) {
    this.#graph = graph
    this.mode = mode
    this.name = name
  }

  /** Whether statistics are those of the batch, and dropout drops. */
  get learns(): boolean {
    return this.mode === 'train' || this.mode === 'statistics'
  }

  /** The layer's own value, or with a suffix one beside it. */
  value(shape: readonly number[], suffix = '', options: NewValue = {}): ValueId {
    return this.#graph.value(this.#named(suffix), shape, options)
  }

  parameter(suffix: string, shape: readonly number[], initialiser: Initialiser): ValueId {
    return this.value(shape, suffix, { role: 'parameter', initialiser })
  }

  operator(
    kind: OperatorKind,
    inputs: readonly ValueId[],
    outputs: readonly ValueId[],
    { attributes = {}, suffix = '' }: { attributes?: Attributes; suffix?: string } = {}
  ): void {
    this.#graph.operator(kind, this.#named(suffix), inputs, outputs, attributes)
  }

  /** An operator from one value to another, that may read parameters too. */
  simple(
    kind: OperatorKind,
    x: ValueId,
    shape: readonly number[],
    attributes: Attributes = {},
    parameters: readonly ValueId[] = []
  ): ValueId {
    const inputs = [x, ...parameters]
    return addOperator(this.#graph, { kind, name: this.name, inputs, shape, attributes }, this.mode === 'train')
  }

  get(value: ValueId): Value {
    return this.#graph.get(value)
  }

  find(name: string): Value | undefined {
    return this.#graph.find(name)
  }

  shape(x: ValueId): readonly number[] {
    return this.#graph.get(x).shape
  }

  /** The shape of an image (N, C, H, W); throws where it is none. */
  image(x: ValueId, mend: string): readonly [number, number, number, number] {
    const shape = this.shape(x)
    if (shape.length !== 4) throw this.mismatch(x, `it takes images (C, H, W): ${mend}`)
    return shape as readonly [number, number, number, number]
  }

  /** The shape of features (N, F) or (N, T, F); throws where they are none. */
  rows(x: ValueId): readonly number[] {
    const shape = this.shape(x)
    if (shape.length > 3) throw this.mismatch(x, 'it takes features (F) or (T, F): put flatten before it')
    return shape
  }

  wholeNumber(parameter: string, value: number, least: number): number {
    return wholeNumber(this.name, parameter, value, least)
  }

  number(parameter: string, value: unknown, wanted: string, holds: (value: number) => boolean): number {
    return realNumber(this.name, parameter, value, wanted, holds)
  }

  truth(parameter: string, value: unknown): boolean {
    return truth(this.name, parameter, value)
  }

  invalid(parameter: string, received: unknown, mend: string): ArbalestError {
    return invalidLayer(this.name, parameter, received, mend)
  }

  mismatch(x: ValueId, mend: string): ArbalestError {
    return shapeMismatch(this.name, this.shape(x).slice(1), mend)
  }

  #named(suffix: string): string {
    return suffix === '' ? this.name : `${this.name}.${suffix}`
  }
}
