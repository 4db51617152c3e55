import { shown } from '../errors.js'
import { exportedNames, moduleRefusal, ownModule } from '../own-module.js'
import type { ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'
import { innerLayers, withInnerLayers } from './inner-layers.js'
import { invalidLayer, shownShape } from './layer-checks.js'
import { checkModel } from './model-check.js'
import type { Layer, Model } from './model.js'
import { extentsOf, operatorBuilder, valueOf, type OperatorBuilder } from './operator-builder.js'

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

/**
 * The model with every operator of its own loaded from its module; the same model where it has none. Throws INVALID_MODEL for what is no Model, and
 * where a module cannot be loaded.
 */
export async function withOperators(model: Model): Promise<Model> {
  checkModel(model)
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
  const mention = { parameter: 'operator', module, code: 'INVALID_MODEL' } as const
  const exported = await ownModule(mention)
  const found = (exported['default'] ?? exported['operator']) as Partial<ComposedOperator> | undefined
  if (typeof found?.shape === 'function' && typeof found.build === 'function') return found as ComposedOperator
  throw moduleRefusal(mention, `it exports ${exportedNames(exported)}: export { shape, build } as the default`)
}

/** Adds the operator of a layer. Throws INVALID_MODEL where it is not loaded, or builds something else than it says. */
export function buildComposed(
  layer: Layer & { kind: 'composed' },
  writer: GraphWriter,
  { name, differentiated }: { readonly name: string; readonly differentiated: boolean },
  x: ValueId
): { y: ValueId; gradient: OwnGradient | undefined } {
  const { operator, module } = layer
  if (!operator) throw invalidLayer(name, 'module', module, 'load it first: await withOperators(model)')
  const options = layer.options as never
  const builder = operatorBuilder(writer, { layer: name, differentiated })
  const [batch, ...sample] = builder.shape(x)
  const promised = [batch!, ...extentsOf(name, 'its result', operator.shape(sample, options))]
  let parameters = 0
  const counting: OperatorBuilder = { ...builder, parameter: (...values) => (parameters++, builder.parameter(...values)) }
  const y = valueOf(writer, name, 'build', operator.build(counting, x, options))
  const built = builder.shape(y)
  if (shown(built) !== shown(promised))
    throw invalidLayer(name, 'shape', promised.slice(1), `its operators give ${shownShape(built.slice(1))}: change one to match the other`)
  const own = operator.gradient
  if (!own) return { y, gradient: undefined }
  if (y === x) throw invalidLayer(name, 'build', 'its input', 'add at least one operator: a gradient of its own stands between two values')
  if (parameters > 0) throw invalidLayer(name, 'gradient', 'its own', 'leave it out: an operator with parameters is differentiated')
  const gradient: OwnGradient = (to, values) => {
    const backward = operatorBuilder(to, { layer: name, prefix: `${name}.gradient`, differentiated: false })
    return valueOf(to, name, 'gradient', own.call(operator, backward, values, options))
  }
  return { y, gradient }
}

/** Adds what computes the input's gradient, and returns it. */
export type OwnGradient = (writer: GraphWriter, values: { x: ValueId; y: ValueId; gradient: ValueId }) => ValueId
