import { buildComposed } from './composed.js'
import { NONE, type ComposedGradient, type Operator, type ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'
import { invalidLayer } from './layer-checks.js'
import { layerNames } from './layer-names.js'
import type { ComposedLayer, Layer } from './model.js'
import { concat, multiply, residual, type Sequence } from './operators/branches.js'
import { dropout, gelu, leakyRelu } from './operators/element-wise.js'
import { flatten, globalAvgPool, pool, subsamplePad } from './operators/images.js'
import { LayerWriter, type Mode } from './operators/layer-writer.js'
import { batchNorm, layerNorm, localResponseNorm, type BatchStatistics } from './operators/normalisation.js'
import { causalSelfAttention, embedding, positions } from './operators/sequences.js'
import { conv2d, linear } from './operators/weights.js'

/** Turns layers into operators, one after another. */
export class LayerOperators {
  readonly #graph: GraphWriter
  readonly #mode: Mode
  readonly #statistics: BatchStatistics[] = []
  /** Of layers that are frozen. */
  readonly #frozen: Operator[] = []
  readonly composed: ComposedGradient[] = []
  readonly named: Record<string, ValueId> = {}
  #dropouts = 0

  constructor(graph: GraphWriter, mode: Mode) {
    this.#graph = graph
    this.#mode = mode
  }

  /** The layers' output for input `x`; names begin with `prefix`. */
  sequence(layers: readonly Layer[], x: ValueId, prefix = ''): ValueId {
    const names = layerNames(layers, prefix)
    return layers.reduce((value, layer, i) => {
      const [first, before] = [this.#graph.size, this.#graph.operatorCount]
      const to = new LayerWriter(this.#graph, this.#mode, names[i]!)
      const y = this.#layer(layer, to, value)
      if (to.truth('frozen', layer.frozen ?? false)) {
        this.#graph.freeze(first)
        this.#frozen.push(...this.#graph.operatorsAfter(before))
      }
      return y
    }, x)
  }

  /** Folds each batch norm's statistics into the running ones; at the end, so that nothing stands between operators to be fused. */
  foldStatistics(): void {
    for (const { name, moments, running } of this.#statistics)
      this.#graph.operator('foldStatistics', `${name}.fold`, [...moments, ...running], running)
  }

  /** Throws INVALID_MODEL where a frozen layer's weight is another layer's, which learns. */
  checkFrozen(): void {
    for (const { name, inputs } of this.#frozen) {
      const foreign = inputs.filter((id) => id !== NONE).map((id) => this.#graph.get(id))
      const learning = foreign.find(({ role, frozen }) => role === 'parameter' && !frozen)
      if (learning) throw invalidLayer(name, 'frozen', true, `its weight is ${learning.name}, which learns: freeze that layer too`)
    }
  }

  #layer(layer: Layer, to: LayerWriter, x: ValueId): ValueId {
    const sequence: Sequence = (layers, input, prefix) => this.sequence(layers, input, prefix)
    switch (layer.kind) {
      case 'conv2d':
        return conv2d(layer, to, x)
      case 'linear':
        return linear(layer, to, x)
      case 'embedding':
        return embedding(layer, to, x)
      case 'positions':
        return positions(layer, to, x)
      case 'causalSelfAttention':
        return causalSelfAttention(layer, to, x)
      case 'layerNorm':
        return layerNorm(layer, to, x)
      case 'batchNorm2d':
        return batchNorm(layer, to, x, this.#statistics)
      case 'relu':
      case 'sigmoid':
      case 'tanh':
      case 'silu':
        return to.simple(layer.kind, x, to.shape(x))
      case 'leakyRelu':
        return leakyRelu(layer, to, x)
      case 'gelu':
        return gelu(layer, to, x)
      case 'localResponseNorm':
        return localResponseNorm(layer, to, x)
      case 'maxPool2d':
      case 'avgPool2d':
        return pool(layer, to, x)
      case 'globalAvgPool':
        return globalAvgPool(to, x)
      case 'flatten':
        return flatten(to, x)
      case 'dropout':
        return dropout(layer, to, x, () => this.#dropouts++)
      case 'residual':
        return residual(layer, to, x, sequence)
      case 'multiply':
        return multiply(layer, to, x, sequence)
      case 'concat':
        return concat(layer, to, x, sequence)
      case 'subsamplePad':
        return subsamplePad(layer, to, x)
      case 'composed':
        return this.#composed(layer, to.name, x)
    }
  }

  #composed(layer: ComposedLayer, name: string, x: ValueId): ValueId {
    const { y, hasGradient } = buildComposed(layer, this.#graph, { name, differentiated: this.#mode === 'train' }, x)
    if (hasGradient && this.#mode === 'train') {
      this.composed.push({ layer: name, module: layer.module, options: layer.options })
      // A name keeps both from being fused away.
      Object.assign(this.named, { [`${name}.input`]: x, [`${name}.output`]: y })
    }
    return y
  }
}
