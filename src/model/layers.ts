import type { Layer, Model, Pair, WeightInitialiser } from './model.js'

/**
 * Options of every layer: a name for its parameters and for messages, unique among its neighbours, and whether what it has learnt stays as it is.
 * A frozen batch norm keeps its scale and shift, and still normalises by its batch.
 */
export interface Named {
  readonly name?: string
  readonly frozen?: boolean
}

/** Where the values that a layer learns begin. */
export interface Initialised {
  readonly initialiser?: WeightInitialiser
  readonly biasInitialiser?: WeightInitialiser
}

/** A 2-D convolution over (C, H, W); square kernels and strides may be given as one number. */
export function conv2d(
  filters: number,
  kernel: Pair,
  options: Named & Initialised & { stride?: Pair; padding?: Pair; groups?: number; bias?: boolean } = {}
): Layer {
  return { kind: 'conv2d', filters, kernel, ...options }
}

/**
 * y = W x + b over the features of (F) or (T, F); put `flatten()` before it where the input is an image. `tied` names the layer, an embedding
 * or another linear one, whose weight is this layer's too.
 */
export function linear(features: number, options: Named & Initialised & { bias?: boolean; tied?: string } = {}): Layer {
  return { kind: 'linear', features, ...options }
}

/** Batch normalisation of every channel of (C, H, W) (Ioffe and Szegedy, ICML 2015); `epsilon` is 1e-5 and the first `gamma` 1 if left out. */
export function batchNorm2d(options: Named & { epsilon?: number; gamma?: number } = {}): Layer {
  return { kind: 'batchNorm2d', ...options }
}

/**
 * Rows of a trained table by token: (T) token ids, each below `tokens`, to (T, features); normal with std 1 at first. The model's first
 * layer.
 */
export function embedding(tokens: number, features: number, options: Named & { initialiser?: WeightInitialiser } = {}): Layer {
  return { kind: 'embedding', tokens, features, ...options }
}

/** Adds a trained number, normal with std 0.02 at first, to every element of a sample: it tells positions of (T, F) apart. */
export function positions(options: Named & { initialiser?: WeightInitialiser } = {}): Layer {
  return { kind: 'positions', ...options }
}

/**
 * Self-attention in which a position sees itself and those before it (Vaswani et al., NeurIPS 2017): (T, 3F), queries, keys and values, to
 * (T, F). Put `linear(3 * F)` before it and `linear(F)` after it.
 */
export function causalSelfAttention(heads: number, options: Named = {}): Layer {
  return { kind: 'causalSelfAttention', heads, ...options }
}

/** Normalises each row of (F) or (T, F) (Ba, Kiros and Hinton, 2016); `epsilon` is 1e-5 if left out. */
export function layerNorm(options: Named & { epsilon?: number } = {}): Layer {
  return { kind: 'layerNorm', ...options }
}

/** max(0, x) */
export function relu(options: Named = {}): Layer {
  return { kind: 'relu', ...options }
}

/** 1 / (1 + e^-x) */
export function sigmoid(options: Named = {}): Layer {
  return { kind: 'sigmoid', ...options }
}

/** The hyperbolic tangent. */
export function tanh(options: Named = {}): Layer {
  return { kind: 'tanh', ...options }
}

/** x where it is positive, else `slope` (0.01) times x (Maas et al., ICML 2013). */
export function leakyRelu(options: Named & { slope?: number } = {}): Layer {
  return { kind: 'leakyRelu', ...options }
}

/**
 * x times the standard normal distribution's share below x (Hendrycks and Gimpel, 2016), exact; with `approximate: 'tanh'` in the form that GPT-2
 * uses.
 */
export function gelu(options: Named & { approximate?: 'none' | 'tanh' } = {}): Layer {
  return { kind: 'gelu', ...options }
}

/** x * sigmoid(x), also called swish (Elfwing et al., 2017). */
export function silu(options: Named = {}): Layer {
  return { kind: 'silu', ...options }
}

/**
 * x / (k + alpha / size * (sum of x^2 over the `size` channels around))^beta, over (C, H, W): AlexNet's (Krizhevsky et al., NeurIPS 2012) as PyTorch
 * defines it, with its defaults alpha 1e-4, beta 0.75 and k 1.
 */
export function localResponseNorm(size: number, options: Named & { alpha?: number; beta?: number; k?: number } = {}): Layer {
  return { kind: 'localResponseNorm', size, ...options }
}

/** The largest value of each window; windows do not overlap if `stride` is left out. */
export function maxPool2d(kernel: Pair, options: Named & { stride?: Pair; padding?: Pair } = {}): Layer {
  return { kind: 'maxPool2d', kernel, ...options }
}

/** The mean of each window, padding counted as zeros; windows do not overlap if `stride` is left out. */
export function avgPool2d(kernel: Pair, options: Named & { stride?: Pair; padding?: Pair } = {}): Layer {
  return { kind: 'avgPool2d', kernel, ...options }
}

/** The mean of each channel: (C, H, W) to (C). */
export function globalAvgPool(options: Named = {}): Layer {
  return { kind: 'globalAvgPool', ...options }
}

/** (C, H, W) to (C*H*W). */
export function flatten(options: Named = {}): Layer {
  return { kind: 'flatten', ...options }
}

/** Zeroes a share `rate` of the features and scales the others by 1/(1 - rate), in training only. */
export function dropout(rate: number, options: Named = {}): Layer {
  return { kind: 'dropout', rate, ...options }
}

/** body(x) + shortcut(x), then max(0, .) unless `relu` is false; without a shortcut x itself is added. */
export function residual(
  layers: Named & { body: readonly Layer[]; shortcut?: readonly Layer[]; shortcutName?: string; relu?: boolean }
): Layer {
  return { kind: 'residual', ...layers }
}

/** body(x) * shortcut(x), element by element; without a shortcut x itself is the other factor, as in x * sigmoid(conv(x)). */
export function multiply(layers: Named & { body: readonly Layer[]; shortcut?: readonly Layer[]; shortcutName?: string }): Layer {
  return { kind: 'multiply', ...layers }
}

/** The channels (or features) of all branches side by side; an empty branch is the input itself. */
export function concat(branches: readonly (readonly Layer[])[], options: Named = {}): Layer {
  return { kind: 'concat', branches, ...options }
}

/** Every stride-th pixel, with zero channels before and after. */
export function subsamplePad(stride: number, before: number, after: number, options: Named = {}): Layer {
  return { kind: 'subsamplePad', stride, before, after, ...options }
}

/**
 * An operator of one's own, composed of existing ones by the module at this address; `train` loads it, elsewhere `loadOperators` does.
 * `options` is plain data for it.
 */
export function composed(module: URL, options: Named & { options?: unknown } = {}): Layer {
  return { kind: 'composed', module: module.href, ...options }
}

/** A Model from its layers; the loss is softmax cross-entropy if left out. Shapes are checked when its Graph is built. */
export function defineModel(model: Omit<Model, 'loss'> & Partial<Pick<Model, 'loss'>>): Model {
  return { ...model, loss: model.loss ?? 'softmaxCrossEntropy' }
}
