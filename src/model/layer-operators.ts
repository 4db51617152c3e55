import { buildComposed, operatorBuilder, type OwnGradient } from './composed.js'
import { invalidLayer, pairOf, shapeMismatch, wholeNumber, windowsOf, type Window } from './layer-checks.js'
import { elements, NONE, type Attributes, type Initialiser, type OperatorKind, type ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'
import { layerNames } from './layer-names.js'
import type {
  BatchNorm2dLayer,
  ComposedLayer,
  Conv2dLayer,
  Layer,
  LinearLayer,
  PoolLayer,
  ResidualLayer,
  SubsamplePadLayer,
  WeightInitialiser
} from './model.js'

/**
 * - `train`: batch statistics, dropout, what the gradients need is kept.
 * - `statistics`: as `train`, and the batch statistics are folded into the running ones; no gradients.
 * - `evaluate`, `predict`: running statistics, no dropout.
 */
export type Mode = 'train' | 'statistics' | 'evaluate' | 'predict'

/** Turns layers into operators, one after another. */
export class LayerOperators {
  readonly #writer: GraphWriter
  readonly #mode: Mode
  readonly #moments: { name: string; moments: ValueId[]; running: ValueId[] }[] = []
  /** Of operators that bring one of their own, by name; `<name>.input` and `<name>.output` are in `named`. */
  readonly gradients: Record<string, OwnGradient> = {}
  readonly named: Record<string, ValueId> = {}
  #dropouts = 0

  constructor(writer: GraphWriter, mode: Mode) {
    this.#writer = writer
    this.#mode = mode
  }

  /** The layers' output for input `x`; names begin with `prefix`. */
  sequence(layers: readonly Layer[], x: ValueId, prefix = ''): ValueId {
    const names = layerNames(layers, prefix)
    return layers.reduce((value, layer, i) => this.#layer(layer, names[i]!, value), x)
  }

  /** Folds each batch norm's statistics into the running ones; at the end, so that nothing stands between operators to be fused. */
  foldStatistics(): void {
    for (const { name, moments, running } of this.#moments)
      this.#writer.operator('foldStatistics', `${name}.fold`, [...moments, ...running], running)
  }

  #layer(layer: Layer, name: string, x: ValueId): ValueId {
    switch (layer.kind) {
      case 'conv2d':
        return this.#conv2d(layer, name, x)
      case 'linear':
        return this.#linear(layer, name, x)
      case 'batchNorm2d':
        return this.#batchNorm(layer, name, x)
      case 'relu':
        return this.#simple('relu', name, x, this.#shape(x))
      case 'maxPool2d':
      case 'avgPool2d':
        return this.#pool(layer, name, x)
      case 'globalAvgPool':
        return this.#simple('globalAvgPool', name, x, this.#image(name, x, 'put it before flatten').slice(0, 2))
      case 'flatten':
        return this.#flatten(name, x)
      case 'dropout':
        return this.#dropout(layer.rate, name, x)
      case 'residual':
        return this.#residual(layer, name, x)
      case 'subsamplePad':
        return this.#subsamplePad(layer, name, x)
      case 'composed':
        return this.#composed(layer, name, x)
    }
  }

  #shape(x: ValueId): readonly number[] {
    return this.#writer.get(x).shape
  }

  /** The shape of an image (N, C, H, W); throws where it is none. */
  #image(name: string, x: ValueId, mend: string): readonly number[] {
    const shape = this.#shape(x)
    if (shape.length !== 4) throw shapeMismatch(name, shape.slice(1), `it takes images (C, H, W): ${mend}`)
    return shape
  }

  #simple(kind: OperatorKind, name: string, x: ValueId, shape: readonly number[], attributes: Attributes = {}): ValueId {
    const y = this.#writer.value(name, shape)
    this.#writer.operator(kind, name, [x], [y], attributes)
    return y
  }

  #weights(name: string, shape: readonly number[], groups: number, layer: { bias?: boolean; initialiser?: WeightInitialiser }): ValueId[] {
    const outputs = shape[0]!
    const fanIn = elements(shape.slice(1))
    const uniform: Initialiser = { kind: 'uniform', bound: 1 / Math.sqrt(fanIn) }
    const initialisers: Record<WeightInitialiser, Initialiser> = {
      kaimingUniform: uniform,
      heNormal: { kind: 'normal', deviation: Math.sqrt(2 / ((outputs / groups) * elements(shape.slice(2)))) }
    }
    const choice = layer.initialiser ?? 'kaimingUniform'
    if (!Object.hasOwn(initialisers, choice))
      throw invalidLayer(name, 'initialiser', choice, `use one of ${Object.keys(initialisers).join(', ')}`)
    const weight = this.#writer.value(`${name}.weight`, shape, { role: 'parameter', initialiser: initialisers[choice] })
    if (layer.bias === false) return [weight, NONE]
    return [weight, this.#writer.value(`${name}.bias`, [outputs], { role: 'parameter', initialiser: uniform })]
  }

  #conv2d(layer: Conv2dLayer, name: string, x: ValueId): ValueId {
    const [batch, channels] = this.#image(name, x, 'put it before flatten and pooling to (C)') as [number, number]
    const filters = wholeNumber(name, 'filters', layer.filters, 1)
    const groups = wholeNumber(name, 'groups', layer.groups ?? 1, 1)
    if (filters % groups) throw invalidLayer(name, 'groups', groups, `use a divisor of its ${filters} filters`)
    if (channels % groups)
      throw shapeMismatch(name, this.#shape(x).slice(1), `its ${groups} groups must divide the channels: change groups`)
    const window: Window = {
      kernel: pairOf(name, 'kernel', layer.kernel, 1),
      stride: pairOf(name, 'stride', layer.stride ?? 1, 1),
      padding: pairOf(name, 'padding', layer.padding ?? 0, 0)
    }
    const extents = windowsOf(name, this.#shape(x).slice(1), window)
    const weights = this.#weights(name, [filters, channels / groups, ...window.kernel], groups, layer)
    const y = this.#writer.value(name, [batch, filters, ...extents])
    this.#writer.operator('conv2d', name, [x, ...weights], [y], { stride: window.stride, padding: window.padding, groups, relu: 0 })
    return y
  }

  #linear(layer: LinearLayer, name: string, x: ValueId): ValueId {
    const shape = this.#shape(x)
    if (shape.length !== 2) throw shapeMismatch(name, shape.slice(1), 'it takes features (F): put flatten before it')
    const features = wholeNumber(name, 'features', layer.features, 1)
    const weights = this.#weights(name, [features, shape[1]!], 1, layer)
    const y = this.#writer.value(name, [shape[0]!, features])
    this.#writer.operator('linear', name, [x, ...weights], [y], { relu: 0 })
    return y
  }

  #batchNorm(layer: BatchNorm2dLayer, name: string, x: ValueId): ValueId {
    const shape = this.#image(name, x, 'put it before flatten')
    const channels = shape[1]!
    const epsilon = layer.epsilon ?? 1e-5
    if (!(epsilon > 0 && epsilon < Infinity)) throw invalidLayer(name, 'epsilon', epsilon, 'use a positive number')
    const parameter = (suffix: string, value: number): ValueId =>
      this.#writer.value(`${name}.${suffix}`, [channels], { role: 'parameter', initialiser: { kind: 'constant', value } })
    const statistic = (suffix: string, extent: number): ValueId =>
      this.#writer.value(`${name}.${suffix}`, [extent], { role: 'statistic', type: 'statistic' })
    const affine = [parameter('weight', 1), parameter('bias', 0)]
    const running = [statistic('count', 1), statistic('runningMean', channels), statistic('runningVariance', channels)]
    const y = this.#writer.value(name, shape)
    if (this.#mode === 'evaluate' || this.#mode === 'predict') {
      this.#writer.operator('batchNormInference', name, [x, ...affine, ...running.slice(1), NONE], [y], { epsilon, relu: 0 })
      return y
    }
    if (elements(shape) === channels)
      throw shapeMismatch(name, shape.slice(1), 'one value a channel has no variance: use a batch of at least 2')
    const moments = ['mean', 'variance'].map((suffix) => this.#writer.value(`${name}.${suffix}`, [channels], { type: 'statistic' }))
    this.#writer.operator('batchNorm', name, [x, ...affine, NONE], [y, ...moments], { epsilon, relu: 0 })
    this.#moments.push({ name, moments, running })
    return y
  }

  #pool(layer: PoolLayer, name: string, x: ValueId): ValueId {
    const shape = this.#image(name, x, 'put it before flatten')
    const kernel = pairOf(name, 'kernel', layer.kernel, 1)
    const window: Window = {
      kernel,
      stride: pairOf(name, 'stride', layer.stride ?? kernel, 1),
      padding: pairOf(name, 'padding', layer.padding ?? 0, 0)
    }
    if (window.padding.some((padding, axis) => 2 * padding > kernel[axis]!))
      throw invalidLayer(name, 'padding', layer.padding, 'use at most half of the kernel')
    const output = [...shape.slice(0, 2), ...windowsOf(name, shape.slice(1), window)]
    const attributes = { kernel, stride: window.stride, padding: window.padding }
    if (layer.kind === 'avgPool2d') return this.#simple('avgPool2d', name, x, output, attributes)
    if (kernel[0] * kernel[1] > 255) throw invalidLayer(name, 'kernel', layer.kernel, 'use a window of at most 255 pixels')
    const y = this.#writer.value(name, output)
    const position = this.#mode === 'train' ? this.#writer.value(`${name}.position`, output, { type: 'position' }) : NONE
    this.#writer.operator('maxPool2d', name, [x], [y, position], attributes)
    return y
  }

  #flatten(name: string, x: ValueId): ValueId {
    const [batch, ...sample] = this.#shape(x) as [number, ...number[]]
    return this.#simple('reshape', name, x, [batch, elements(sample)])
  }

  #dropout(rate: number, name: string, x: ValueId): ValueId {
    if (!(rate >= 0 && rate < 1)) throw invalidLayer(name, 'rate', rate, 'use a number from 0 to less than 1')
    if (rate === 0 || this.#mode === 'evaluate' || this.#mode === 'predict') return x
    return this.#simple('dropout', name, x, this.#shape(x), { rate, stream: this.#dropouts++ })
  }

  #residual(layer: ResidualLayer, name: string, x: ValueId): ValueId {
    if (!Array.isArray(layer.body) || layer.body.length === 0) throw invalidLayer(name, 'body', layer.body, 'give it at least one layer')
    const body = this.sequence(layer.body, x, `${name}.`)
    const shortcut = this.sequence(layer.shortcut ?? [], x, `${name}.shortcut.`)
    const [ours, theirs] = [this.#shape(body), this.#shape(shortcut)]
    if (ours.length !== theirs.length || ours.some((extent, axis) => extent !== theirs[axis]))
      throw shapeMismatch(
        name,
        this.#shape(x).slice(1),
        `its body gives (${ours.slice(1).join(', ')}) and its shortcut (${theirs.slice(1).join(', ')}): change one to match the other`
      )
    const ends = layer.relu ?? true
    const sum = this.#writer.value(ends ? `${name}.add` : name, ours)
    this.#writer.operator('add', ends ? `${name}.add` : name, [body, shortcut], [sum], { relu: 0 })
    return ends ? this.#simple('relu', name, sum, ours) : sum
  }

  #composed(layer: ComposedLayer, name: string, x: ValueId): ValueId {
    const { y, gradient } = buildComposed(layer, operatorBuilder(this.#writer, name), name, x)
    if (gradient && this.#mode === 'train') {
      this.gradients[name] = gradient
      // A name keeps both from being fused away.
      Object.assign(this.named, { [`${name}.input`]: x, [`${name}.output`]: y })
    }
    return y
  }

  #subsamplePad(layer: SubsamplePadLayer, name: string, x: ValueId): ValueId {
    const [batch, channels, height, width] = this.#image(name, x, 'put it before flatten') as [number, number, number, number]
    const stride = wholeNumber(name, 'stride', layer.stride, 1)
    const before = wholeNumber(name, 'before', layer.before, 0)
    const after = wholeNumber(name, 'after', layer.after, 0)
    const shape = [batch, channels + before + after, Math.ceil(height / stride), Math.ceil(width / stride)]
    return this.#simple('subsamplePad', name, x, shape, { stride, before, after })
  }
}
