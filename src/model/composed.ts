import { ArbalestError, shown } from '../errors.js'
import { invalidLayer, shownShape } from './layer-checks.js'
import type { Attributes, Initialiser, OperatorKind, ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'
import { innerLayers, withInnerLayers } from './inner-layers.js'
import type { Layer, Model } from './model.js'

/** What an operator of one's own is built from: the engine's operators, with names that begin with the layer's. */
export interface OperatorBuilder {
  /** A value's shape, batch first. */
  shape(value: ValueId): readonly number[]
  /** A trained parameter, `<layer>.<name>`. */
  parameter(name: string, shape: readonly number[], initialiser: Initialiser): ValueId
  /** Adds an operator whose one output has this shape, batch first; the inputs are those of the table of operators. */
  add(kind: OperatorKind, inputs: readonly ValueId[], shape: readonly number[], attributes?: Attributes): ValueId
}

/** An operator composed of existing ones: what a module exports, as its default or as `operator`. */
export interface ComposedOperator<Options = never> {
  /** One sample's shape of the result for one sample's shape of the input; throws for an input that it does not take. */
  shape(input: readonly number[], options: Options): readonly number[]
  /** Adds what computes the result from `x`, and returns it. Its gradient follows from the operators'. */
  build(builder: OperatorBuilder, x: ValueId, options: Options): ValueId
  /**
   * Instead of the gradient that follows: the input's gradient from the result's. Only for an operator without parameters. `x` and `y` are the
   * operator's input and result.
   */
  gradient?(builder: Omit<OperatorBuilder, 'parameter'>, values: { x: ValueId; y: ValueId; gradient: ValueId }, options: Options): ValueId
}

/** The model with every operator of its own loaded from its module; the same model where it has none. */
export async function withOperators(model: Model): Promise<Model> {
  const layers = await Promise.all(model.layers.map(loaded))
  return layers.every((layer, i) => layer === model.layers[i]) ? model : { ...model, layers }
}

/** A Model whose operators are not loaded: plain data that may be posted to another thread. */
export type PlainModel = Omit<Model, 'layers'> & { readonly layers: readonly unknown[] }

export function withoutOperators(model: Model): PlainModel {
  const plain = (layer: Layer): unknown => {
    if (layer.kind === 'composed') return Object.fromEntries(Object.entries(layer).filter(([key]) => key !== 'operator'))
    return withInnerLayers(
      layer,
      innerLayers(layer).map((list) => list.map(plain) as Layer[])
    )
  }
  return { ...model, layers: model.layers.map(plain) }
}

async function loaded(layer: Layer): Promise<Layer> {
  if (layer.kind === 'composed') return layer.operator ? layer : { ...layer, operator: await loadOperator(layer.module) }
  const before = innerLayers(layer)
  const after = await Promise.all(before.map((list) => Promise.all(list.map(loaded))))
  return after.every((list, i) => list.every((each, j) => each === before[i]![j])) ? layer : withInnerLayers(layer, after)
}

async function loadOperator(module: string): Promise<ComposedOperator> {
  const exported = (await import(module)) as Record<string, unknown>
  const found = (exported['default'] ?? exported['operator']) as Partial<ComposedOperator> | undefined
  if (typeof found?.shape === 'function' && typeof found.build === 'function') return found as ComposedOperator
  throw new ArbalestError(
    'INVALID_MODEL',
    `operator: received ${shown(module)}; it exports ${Object.keys(exported).join(', ') || 'nothing'}: export { shape, build } as the default`
  )
}

/** A builder for the operator of layer `name`; every value gets a name of its own. */
export function operatorBuilder(writer: GraphWriter, name: string): OperatorBuilder {
  return {
    shape: (value) => writer.get(value).shape,
    parameter: (suffix, shape, initialiser) => writer.value(`${name}.${suffix}`, shape, { role: 'parameter', initialiser }),
    add(kind, inputs, shape, attributes = {}) {
      const inner = writer.freeName(`${name}.${kind}`)
      const value = writer.value(inner, shape)
      writer.operator(kind, inner, inputs, [value], attributes)
      return value
    }
  }
}

/** Adds the operator of a layer. Throws INVALID_MODEL where it is not loaded, or builds something else than it says. */
export function buildComposed(
  layer: Layer & { kind: 'composed' },
  builder: OperatorBuilder,
  name: string,
  x: ValueId
): { y: ValueId; gradient: OwnGradient | undefined } {
  const { operator, module } = layer
  if (!operator) throw invalidLayer(name, 'module', module, 'load it first: await withOperators(model)')
  const options = layer.options as never
  const [batch, ...sample] = builder.shape(x)
  const promised = [batch!, ...operator.shape(sample, options)]
  let parameters = 0
  const counting: OperatorBuilder = { ...builder, parameter: (...values) => (parameters++, builder.parameter(...values)) }
  const y = operator.build(counting, x, options)
  const built = builder.shape(y)
  if (shown(built) !== shown(promised))
    throw invalidLayer(name, 'shape', promised.slice(1), `its operators give ${shownShape(built.slice(1))}: change one to match the other`)
  const own = operator.gradient
  if (!own) return { y, gradient: undefined }
  if (y === x) throw invalidLayer(name, 'build', 'its input', 'add at least one operator: a gradient of its own stands between two values')
  if (parameters > 0) throw invalidLayer(name, 'gradient', 'its own', 'leave it out: an operator with parameters is differentiated')
  return { y, gradient: (writer, values) => own.call(operator, operatorBuilder(writer, `${name}.gradient`), values, options) }
}

/** Adds what computes the input's gradient, and returns it. */
export type OwnGradient = (writer: GraphWriter, values: { x: ValueId; y: ValueId; gradient: ValueId }) => ValueId
