import type { Layer, Model, Pair, WeightInitialiser } from './model.js'

/** Options of every layer: a name for its parameters and for messages, unique among its neighbours. */
interface Named {
  readonly name?: string
}

/** A 2-D convolution over (C, H, W); square kernels and strides may be given as one number. */
export function conv2d(
  filters: number,
  kernel: Pair,
  options: Named & { stride?: Pair; padding?: Pair; groups?: number; bias?: boolean; initialiser?: WeightInitialiser } = {}
): Layer {
  return { kind: 'conv2d', filters, kernel, ...options }
}

/** y = W x + b over features (F); put `flatten()` before it where the input is an image. */
export function linear(features: number, options: Named & { bias?: boolean; initialiser?: WeightInitialiser } = {}): Layer {
  return { kind: 'linear', features, ...options }
}

/** Batch normalisation of every channel of (C, H, W) (Ioffe and Szegedy, ICML 2015); `epsilon` is 1e-5 if left out. */
export function batchNorm2d(options: Named & { epsilon?: number } = {}): Layer {
  return { kind: 'batchNorm2d', ...options }
}

/** max(0, x) */
export function relu(options: Named = {}): Layer {
  return { kind: 'relu', ...options }
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
export function residual(layers: Named & { body: readonly Layer[]; shortcut?: readonly Layer[]; relu?: boolean }): Layer {
  return { kind: 'residual', ...layers }
}

/** Every stride-th pixel, with zero channels before and after. */
export function subsamplePad(stride: number, before: number, after: number, options: Named = {}): Layer {
  return { kind: 'subsamplePad', stride, before, after, ...options }
}

/**
 * An operator of one's own, composed of existing ones by the module at this address; `train` loads it, elsewhere `withOperators` does.
 * `options` is plain data for it.
 */
export function composed(module: URL, options: Named & { options?: unknown } = {}): Layer {
  return { kind: 'composed', module: module.href, ...options }
}

/** A Model from its layers; the loss is softmax cross-entropy if left out. Shapes are checked when its Graph is built. */
export function defineModel(model: { name: string; input: readonly number[]; layers: readonly Layer[]; loss?: Model['loss'] }): Model {
  return { ...model, loss: model.loss ?? 'softmaxCrossEntropy' }
}
