import { buildComposed, operatorBuilder, type OwnGradient } from './composed.js'
import { invalidLayer, pairOf, shapeMismatch, shownShape, wholeNumber, windowsOf, type Window } from './layer-checks.js'
import { elements, NONE, type Attributes, type Initialiser, type OperatorKind, type ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'
import { initialiserOf, type Fans, type WeightInitialiser } from './initialisers.js'
import { layerNames } from './layer-names.js'
import type {
  BatchNorm2dLayer,
  CausalSelfAttentionLayer,
  ComposedLayer,
  ConcatLayer,
  Conv2dLayer,
  EmbeddingLayer,
  Layer,
  LayerNormLayer,
  LinearLayer,
  LocalResponseNormLayer,
  MultiplyLayer,
  PoolLayer,
  ResidualLayer,
  SubsamplePadLayer
} from './model.js'

/**
 * - `train`: batch statistics, dropout, what the gradients need is kept.
 * - `statistics`: as `train`, and the batch statistics are folded into the running ones; no gradients.
 * - `evaluate`, `predict`: running statistics, no dropout.
 */
export type Mode = 'train' | 'statistics' | 'evaluate' | 'predict'

/** What layers with a weight and a bias have in common. */
interface Weighted {
  readonly bias?: boolean
  readonly tied?: string
  readonly initialiser?: WeightInitialiser
  readonly biasInitialiser?: WeightInitialiser
}

function checkedFrozen(name: string, frozen: unknown = false): boolean {
  if (typeof frozen !== 'boolean') throw invalidLayer(name, 'frozen', frozen, 'use true or false')
  return frozen
}

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
    return layers.reduce((value, layer, i) => {
      const first = this.#writer.size
      const y = this.#layer(layer, names[i]!, value)
      if (checkedFrozen(names[i]!, layer.frozen)) this.#writer.freeze(first)
      return y
    }, x)
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
      case 'embedding':
        return this.#embedding(layer, name, x)
      case 'positions':
        return this.#positions(name, x, layer.initialiser)
      case 'causalSelfAttention':
        return this.#causalSelfAttention(layer, name, x)
      case 'layerNorm':
        return this.#layerNorm(layer, name, x)
      case 'batchNorm2d':
        return this.#batchNorm(layer, name, x)
      case 'relu':
      case 'sigmoid':
      case 'tanh':
      case 'silu':
        return this.#simple(layer.kind, name, x, this.#shape(x))
      case 'leakyRelu':
        return this.#leakyRelu(layer.slope ?? 0.01, name, x)
      case 'gelu':
        return this.#gelu(layer.approximate ?? 'none', name, x)
      case 'localResponseNorm':
        return this.#localResponseNorm(layer, name, x)
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
      case 'multiply':
        return this.#multiply(layer, name, x)
      case 'concat':
        return this.#concat(layer, name, x)
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

  #weights(
    name: string,
    shape: readonly number[],
    groups: number,
    { bias = true, tied, initialiser: ofWeight = 'kaimingUniform', biasInitialiser: ofBias }: Weighted
  ): ValueId[] {
    const outputs = shape[0]!
    const fans: Fans = { fanIn: elements(shape.slice(1)), fanOut: (outputs / groups) * elements(shape.slice(2)) }
    const weight =
      tied === undefined
        ? this.#parameter(`${name}.weight`, shape, initialiserOf(name, 'initialiser', ofWeight, fans))
        : this.#tied(name, tied, shape)
    if (!bias) return [weight, NONE]
    // A bias has no fan of its own: PyTorch draws it as if it were a weight, and any other choice must do without.
    const chosen =
      ofBias === undefined ? initialiserOf(name, 'bias', 'kaimingUniform', fans) : initialiserOf(name, 'biasInitialiser', ofBias, null)
    return [weight, this.#parameter(`${name}.bias`, [outputs], chosen)]
  }

  /** The weight of the layer that `tied` names. */
  #tied(name: string, tied: string, shape: readonly number[]): ValueId {
    const weight = this.#writer.find(`${tied}.weight`)
    if (weight?.role !== 'parameter') throw invalidLayer(name, 'tied', tied, 'name an earlier layer that has a weight')
    if (weight.shape.length === shape.length && weight.shape.every((extent, axis) => extent === shape[axis])) return weight.id
    throw invalidLayer(name, 'tied', tied, `its weight is ${shownShape(weight.shape)} where ${shownShape(shape)} is needed`)
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
    const shape = this.#rows(name, x)
    const features = wholeNumber(name, 'features', layer.features, 1)
    const weights = this.#weights(name, [features, shape.at(-1)!], 1, layer)
    const y = this.#writer.value(name, [...shape.slice(0, -1), features])
    this.#writer.operator('linear', name, [x, ...weights], [y], { relu: 0 })
    return y
  }

  /** The shape of features (N, F) or (N, T, F); throws where they are none. */
  #rows(name: string, x: ValueId): readonly number[] {
    const shape = this.#shape(x)
    if (shape.length > 3) throw shapeMismatch(name, shape.slice(1), 'it takes features (F) or (T, F): put flatten before it')
    return shape
  }

  #parameter(name: string, shape: readonly number[], initialiser: Initialiser): ValueId {
    return this.#writer.value(name, shape, { role: 'parameter', initialiser })
  }

  #embedding(layer: EmbeddingLayer, name: string, x: ValueId): ValueId {
    const { shape, type } = this.#writer.get(x)
    if (type !== 'integer' || shape.length !== 2)
      throw shapeMismatch(name, shape.slice(1), 'it takes token ids (T): make it the first layer')
    const tokens = wholeNumber(name, 'tokens', layer.tokens, 1)
    const features = wholeNumber(name, 'features', layer.features, 1)
    const initialiser = initialiserOf(name, 'initialiser', layer.initialiser ?? { kind: 'normal', deviation: 1 }, null)
    const table = this.#parameter(`${name}.weight`, [tokens, features], initialiser)
    const y = this.#writer.value(name, [...shape, features])
    this.#writer.operator('embedding', name, [x, table], [y])
    return y
  }

  #positions(name: string, x: ValueId, choice: WeightInitialiser = { kind: 'normal', deviation: 0.02 }): ValueId {
    const shape = this.#shape(x)
    const initialiser = initialiserOf(name, 'initialiser', choice, null)
    const table = this.#parameter(`${name}.weight`, shape.slice(1), initialiser)
    const y = this.#writer.value(name, shape)
    this.#writer.operator('positions', name, [x, table], [y])
    return y
  }

  #causalSelfAttention(layer: CausalSelfAttentionLayer, name: string, x: ValueId): ValueId {
    const shape = this.#shape(x)
    const heads = wholeNumber(name, 'heads', layer.heads, 1)
    if (shape.length !== 3 || shape[2]! % 3) throw shapeMismatch(name, shape.slice(1), 'it takes (T, 3F): put linear(3 * F) before it')
    const [batch, length, features] = [shape[0]!, shape[1]!, shape[2]! / 3]
    if (features % heads) throw invalidLayer(name, 'heads', heads, `use a divisor of its ${features} features`)
    const y = this.#writer.value(name, [batch, length, features])
    const logSum = this.#mode === 'train' ? this.#writer.value(`${name}.logSum`, [batch, heads, length], { type: 'statistic' }) : NONE
    this.#writer.operator('causalSelfAttention', name, [x], [y, logSum], { heads })
    return y
  }

  #layerNorm(layer: LayerNormLayer, name: string, x: ValueId): ValueId {
    const shape = this.#rows(name, x)
    const epsilon = checkedEpsilon(name, layer.epsilon)
    const affine = [1, 0].map((value, i) =>
      this.#parameter(`${name}.${i ? 'bias' : 'weight'}`, shape.slice(-1), { kind: 'constant', value })
    )
    const y = this.#writer.value(name, shape)
    const moments = ['mean', 'inverse'].map((suffix) =>
      this.#mode === 'train' ? this.#writer.value(`${name}.${suffix}`, shape.slice(0, -1), { type: 'statistic' }) : NONE
    )
    this.#writer.operator('layerNorm', name, [x, ...affine], [y, ...moments], { epsilon })
    return y
  }

  #batchNorm(layer: BatchNorm2dLayer, name: string, x: ValueId): ValueId {
    const shape = this.#image(name, x, 'put it before flatten')
    const channels = shape[1]!
    const epsilon = checkedEpsilon(name, layer.epsilon)
    const gamma = layer.gamma ?? 1
    if (!Number.isFinite(gamma)) throw invalidLayer(name, 'gamma', gamma, 'use a finite number')
    const parameter = (suffix: string, value: number): ValueId =>
      this.#writer.value(`${name}.${suffix}`, [channels], { role: 'parameter', initialiser: { kind: 'constant', value } })
    const statistic = (suffix: string, extent: number): ValueId =>
      this.#writer.value(`${name}.${suffix}`, [extent], { role: 'statistic', type: 'statistic' })
    const affine = [parameter('weight', gamma), parameter('bias', 0)]
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

  /** What a layer's body and its shortcut make of x, in one shape. */
  #pairOfSequences(layer: ResidualLayer | MultiplyLayer, name: string, x: ValueId): [ValueId, ValueId] {
    if (!Array.isArray(layer.body) || layer.body.length === 0) throw invalidLayer(name, 'body', layer.body, 'give it at least one layer')
    const { shortcutName = 'shortcut' } = layer
    if (typeof shortcutName !== 'string' || !/^\S+$/.test(shortcutName))
      throw invalidLayer(name, 'shortcutName', shortcutName, 'use at least one character and no space')
    const body = this.sequence(layer.body, x, `${name}.`)
    const shortcut = this.sequence(layer.shortcut ?? [], x, `${name}.${shortcutName}.`)
    const [ours, theirs] = [this.#shape(body), this.#shape(shortcut)]
    if (ours.length !== theirs.length || ours.some((extent, axis) => extent !== theirs[axis]))
      throw shapeMismatch(
        name,
        this.#shape(x).slice(1),
        `its body gives (${ours.slice(1).join(', ')}) and its shortcut (${theirs.slice(1).join(', ')}): change one to match the other`
      )
    return [body, shortcut]
  }

  #multiply(layer: MultiplyLayer, name: string, x: ValueId): ValueId {
    const factors = this.#pairOfSequences(layer, name, x)
    const y = this.#writer.value(name, this.#shape(factors[0]))
    this.#writer.operator('multiply', name, factors, [y])
    return y
  }

  #concat({ branches }: ConcatLayer, name: string, x: ValueId): ValueId {
    if (!Array.isArray(branches) || branches.length === 0 || !branches.every(Array.isArray))
      throw invalidLayer(name, 'branches', branches, 'give it a list of lists of layers')
    const parts = branches.map((branch, i) => this.sequence(branch, x, `${name}.${i}.`))
    const shapes = parts.map((part) => this.#shape(part))
    const [first] = shapes as [readonly number[]]
    const alike = (shape: readonly number[]): boolean =>
      shape.length === first.length && shape.every((extent, axis) => axis === 1 || extent === first[axis])
    const other = shapes.find((shape) => !alike(shape))
    if (other || (first.length !== 2 && first.length !== 4))
      throw shapeMismatch(
        name,
        this.#shape(x).slice(1),
        `its branches give ${shapes.map((shape) => shownShape(shape.slice(1))).join(', ')}: only channels of images (C, H, W) or features (F) may differ`
      )
    const channels = shapes.map((shape) => shape[1]!)
    const y = this.#writer.value(
      name,
      first.with(
        1,
        channels.reduce((sum, each) => sum + each, 0)
      )
    )
    this.#writer.operator('concat', name, parts, [y], { channels })
    return y
  }

  #leakyRelu(slope: number, name: string, x: ValueId): ValueId {
    if (!(slope >= 0 && slope < 2 ** 31)) throw invalidLayer(name, 'slope', slope, 'use a number of at least 0')
    return this.#simple('leakyRelu', name, x, this.#shape(x), { slope })
  }

  #gelu(approximate: 'none' | 'tanh', name: string, x: ValueId): ValueId {
    if (approximate !== 'none' && approximate !== 'tanh') throw invalidLayer(name, 'approximate', approximate, 'use none or tanh')
    return this.#simple('gelu', name, x, this.#shape(x), { approximate: approximate === 'tanh' ? 1 : 0 })
  }

  #localResponseNorm(layer: LocalResponseNormLayer, name: string, x: ValueId): ValueId {
    const shape = this.#image(name, x, 'put it before flatten')
    const { alpha = 1e-4, beta = 0.75, k = 1 } = layer
    const size = wholeNumber(name, 'size', layer.size, 1)
    if (size > 2 ** 20) throw invalidLayer(name, 'size', size, 'use a window of channels')
    for (const [parameter, value] of Object.entries({ alpha, beta }))
      if (!(value >= 0 && value < 2 ** 31)) throw invalidLayer(name, parameter, value, 'use a number of at least 0')
    if (!(k >= 1e-6 && k < 2 ** 31)) throw invalidLayer(name, 'k', k, 'use a number above 0')
    return this.#simple('localResponseNorm', name, x, shape, { size, alpha, beta, k })
  }

  #residual(layer: ResidualLayer, name: string, x: ValueId): ValueId {
    const [body, shortcut] = this.#pairOfSequences(layer, name, x)
    const ours = this.#shape(body)
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

function checkedEpsilon(name: string, epsilon = 1e-5): number {
  if (!(epsilon > 0 && epsilon < Infinity)) throw invalidLayer(name, 'epsilon', epsilon, 'use a positive number')
  return epsilon
}
