import { exportedNames, moduleRefusal, ownModule } from '../own-module.js'
import { sameShape, type ComposedGradient, type ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'
import { invalidLayer, shownShape } from './layer-checks.js'
import type { Layer, Named } from './layer.js'
import { checkModel, type Model } from './model.js'
import { extentsOf, operatorBuilder, valueOf, type OperatorBuilder } from './operator-builder.js'
import { defineLayers, innerLayers, optionsOf } from './operators/layer-table.js'

declare module './layer.js' {
  interface Layers {
    composed: ComposedLayer
  }
}

/** An operator of the user's own, from a module. */
export interface ComposedLayer extends Named {
  readonly kind: 'composed'
  /** Address of the module that exports a ComposedOperator. */
  readonly module: string
  /** Plain data for the operator. */
  readonly options?: unknown
}

/**
 * An operator of one's own, composed of existing ones by the module at this address; `train` loads it, elsewhere `loadOperators` does.
 * `options` is plain data for it.
 */
export function composed(module: URL, options: Named & { options?: unknown } = {}): ComposedLayer {
  // Not by its class, of which another realm has its own.
  if (typeof module?.href !== 'string')
    throw invalidLayer('composed', 'module', module, "give its URL, such as new URL('./my-operator.js', import.meta.url)")
  return { kind: 'composed', module: module.href, ...optionsOf('composed', options) }
}

/** An operator composed of existing ones: what a module exports, as its default or as `operator`. */
export interface ComposedOperator<Options = never> {
  /** One sample's shape of the result for one sample's shape of the input; throws for an input that it does not take. */
  shape(input: readonly number[], options: Options): readonly number[]
  /** Adds the operators that compute the result from `x`, and returns it. Its gradient follows from theirs. */
  build(builder: OperatorBuilder, x: ValueId, options: Options): ValueId
  /**
   * Instead of the gradient that follows: the input's gradient from the result's. Only for an operator without parameters. `x` and `y` are the
   * operator's input and result.
   */
  gradient?(builder: Omit<OperatorBuilder, 'parameter'>, values: { x: ValueId; y: ValueId; gradient: ValueId }, options: Options): ValueId
}

/** The operators of this thread by the address of their module. A module is loaded once, as Node loads it. */
const operators = new Map<string, ComposedOperator>()

/**
 * Loads the modules of a model's composed layers into this thread; `train`, `explain` and `loadModel` do so themselves. Throws INVALID_MODEL for a
 * value that is no Model and for a module that cannot be loaded.
 */
export async function loadOperators(model: Model): Promise<void> {
  checkModel(model)
  await Promise.all(modulesOf(model.layers).map(load))
}

function modulesOf(layers: readonly Layer[]): string[] {
  const modules = layers.flatMap((layer) => (layer.kind === 'composed' ? [layer.module] : innerLayers(layer).flatMap(modulesOf)))
  return [...new Set(modules)]
}

async function load(module: string): Promise<void> {
  if (operators.has(module)) return
  const mention = { parameter: 'operator', module, code: 'INVALID_MODEL' } as const
  const exported = await ownModule(mention)
  const found = (exported['default'] ?? exported['operator']) as Partial<ComposedOperator> | undefined
  if (typeof found?.shape !== 'function' || typeof found.build !== 'function')
    throw moduleRefusal(mention, `it exports ${exportedNames(exported)}: export { shape, build } as the default`)
  operators.set(module, found as ComposedOperator)
}

/** The operator of a module. Throws INVALID_MODEL with the layer's name if the module is not loaded. */
function operatorOf(layer: string, module: string): ComposedOperator {
  const operator = operators.get(module)
  if (operator) return operator
  throw invalidLayer(layer, 'module', module, 'load it first: await loadOperators(model)')
}

defineLayers({
  composed: {
    stem: 'composed',
    properties: { module: true, options: true },
    build({ module, options }, { name, isDifferentiated, context }, x) {
      const operator = operatorOf(name, module)
      const builder = operatorBuilder(context.graph, { layer: name, differentiated: isDifferentiated })
      const [batch, ...sample] = builder.shape(x)
      const promised = [batch!, ...extentsOf(name, 'its result', operator.shape(sample, options as never))]
      let parameters = 0
      const counting: OperatorBuilder = { ...builder, parameter: (...values) => (parameters++, builder.parameter(...values)) }
      const y = valueOf(context.graph, name, 'build', operator.build(counting, x, options as never))
      const built = builder.shape(y)
      if (!sameShape(built, promised))
        throw invalidLayer(
          name,
          'shape',
          promised.slice(1),
          `its operators give ${shownShape(built.slice(1))}: change one to match the other`
        )
      if (!operator.gradient) return y
      if (y === x)
        throw invalidLayer(name, 'build', 'its input', 'add at least one operator: a gradient of its own stands between two values')
      if (parameters > 0) throw invalidLayer(name, 'gradient', 'its own', 'leave it out: an operator with parameters is differentiated')
      if (!isDifferentiated) return y
      context.composed.push({ layer: name, module, options })
      // Named values are not fused away.
      Object.assign(context.named, { [`${name}.input`]: x, [`${name}.output`]: y })
      return y
    }
  }
})

/** Adds the gradient that the module of a composed layer brings; returns the gradient of the layer's input `x`. */
export function buildComposedGradient(
  { layer, module, options }: ComposedGradient,
  writer: GraphWriter,
  values: { readonly x: ValueId; readonly y: ValueId; readonly gradient: ValueId }
): ValueId {
  const builder = operatorBuilder(writer, { layer, prefix: `${layer}.gradient`, differentiated: false })
  const operator = operatorOf(layer, module)
  return valueOf(writer, layer, 'gradient', operator.gradient!(builder, values, options as never))
}
