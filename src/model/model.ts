import type { WeightInitialiser } from './initialisers.js'

export type { WeightInitialiser } from './initialisers.js'

/** Layers as plain data. Built by the functions of `layers.ts` or by hand; turned into a Graph by `graph-builder.ts`. */
export interface Model {
  readonly name: string
  /** One sample's shape: (C, H, W), (F), a sequence (T, F), or (T) tokens where the first layer is an embedding. */
  readonly input: readonly number[]
  readonly layers: readonly Layer[]
  readonly loss: LossName
  /** Of softmax cross-entropy in training, 0 if left out: so much of each target is spread evenly over all classes (Szegedy et al., CVPR 2016). */
  readonly labelSmoothing?: number
}

/** `binaryCrossEntropy` takes logits and targets from 0 to 1 of the same shape. Each is a mean: over samples, over all elements for the others. */
export type LossName = 'softmaxCrossEntropy' | 'binaryCrossEntropy' | 'meanSquaredError'

/** Of height and width: one number for both, or each. */
export type Pair = number | readonly [number, number]

/** A layer as plain data, made by functions such as `conv2d`; the shapes that it takes are in docs/layers.md. */
export type Layer = Freezable &
  (
    | Conv2dLayer
    | LinearLayer
    | BatchNorm2dLayer
    | EmbeddingLayer
    | { readonly kind: 'positions'; readonly initialiser?: WeightInitialiser; readonly name?: string }
    | CausalSelfAttentionLayer
    | LayerNormLayer
    | ActivationLayer
    | { readonly kind: 'leakyRelu'; readonly slope?: number; readonly name?: string }
    | { readonly kind: 'gelu'; readonly approximate?: 'none' | 'tanh'; readonly name?: string }
    | LocalResponseNormLayer
    | PoolLayer
    | { readonly kind: 'globalAvgPool'; readonly name?: string }
    | { readonly kind: 'flatten'; readonly name?: string }
    | { readonly kind: 'dropout'; readonly rate: number; readonly name?: string }
    | ResidualLayer
    | MultiplyLayer
    | ConcatLayer
    | SubsamplePadLayer
    | ComposedLayer
  )

/** What a frozen layer and the layers inside of it have learnt stays as it is, bit for bit. */
export interface Freezable {
  readonly frozen?: boolean
}

/** An activation function without numbers of its own, element by element. */
export interface ActivationLayer {
  readonly kind: 'relu' | 'sigmoid' | 'tanh' | 'silu'
  readonly name?: string
}

/** x / (k + alpha / size * (sum of x^2 over the `size` channels around))^beta, with PyTorch's defaults: 1e-4, 0.75 and 1. */
export interface LocalResponseNormLayer {
  readonly kind: 'localResponseNorm'
  readonly size: number
  readonly alpha?: number
  readonly beta?: number
  readonly k?: number
  readonly name?: string
}

/** A 2-D convolution of (C, H, W). */
export interface Conv2dLayer {
  readonly kind: 'conv2d'
  readonly filters: number
  readonly kernel: Pair
  readonly stride?: Pair
  readonly padding?: Pair
  readonly groups?: number
  readonly bias?: boolean
  readonly initialiser?: WeightInitialiser
  /** PyTorch's uniform within 1/sqrt(fan-in) if left out. */
  readonly biasInitialiser?: WeightInitialiser
  readonly name?: string
}

/** x W' + b, of features (F) or of each position of (T, F). */
export interface LinearLayer {
  readonly kind: 'linear'
  readonly features: number
  readonly bias?: boolean
  /** The layer, by its full name, whose weight this one uses as its own. */
  readonly tied?: string
  readonly initialiser?: WeightInitialiser
  /** PyTorch's uniform within 1/sqrt(fan-in) if left out. */
  readonly biasInitialiser?: WeightInitialiser
  readonly name?: string
}

/** Token ids (T) to features (T, F). */
export interface EmbeddingLayer {
  readonly kind: 'embedding'
  /** How many tokens there are. */
  readonly tokens: number
  readonly features: number
  readonly initialiser?: WeightInitialiser
  readonly name?: string
}

/** (T, 3F) to (T, F), each position from those up to itself. */
export interface CausalSelfAttentionLayer {
  readonly kind: 'causalSelfAttention'
  readonly heads: number
  readonly name?: string
}

/** Each position normalised by its own mean and variance, then scaled and shifted. */
export interface LayerNormLayer {
  readonly kind: 'layerNorm'
  readonly epsilon?: number
  readonly name?: string
}

/** Each channel normalised by the mean and variance of the batch, then scaled and shifted. */
export interface BatchNorm2dLayer {
  readonly kind: 'batchNorm2d'
  readonly epsilon?: number
  /** The scale's first value; 1 if left out. */
  readonly gamma?: number
  readonly name?: string
}

/** The maximum or the mean of each window of (C, H, W). */
export interface PoolLayer {
  readonly kind: 'maxPool2d' | 'avgPool2d'
  readonly kernel: Pair
  /** The kernel if left out. */
  readonly stride?: Pair
  readonly padding?: Pair
  readonly name?: string
}

/** body(x) + shortcut(x), then max(0, .) unless `relu` is false; an empty shortcut is the identity. */
export interface ResidualLayer {
  readonly kind: 'residual'
  readonly body: readonly Layer[]
  readonly shortcut?: readonly Layer[]
  /** What the names of the shortcut's layers begin with, after the block's own; `shortcut` if left out. */
  readonly shortcutName?: string
  readonly relu?: boolean
  readonly name?: string
}

/** body(x) * shortcut(x), element by element; an empty shortcut is the identity. */
export interface MultiplyLayer extends Omit<ResidualLayer, 'kind' | 'relu'> {
  readonly kind: 'multiply'
}

/** The channels of all branches side by side; an empty branch is the identity. */
export interface ConcatLayer {
  readonly kind: 'concat'
  readonly branches: readonly (readonly Layer[])[]
  readonly name?: string
}

/** An operator of the user's own, from a module. */
export interface ComposedLayer {
  readonly kind: 'composed'
  /** Address of the module that exports a ComposedOperator. */
  readonly module: string
  /** Plain data for the operator. */
  readonly options?: unknown
  readonly name?: string
}

/** Every stride-th pixel, with zero channels before and after: the parameter-free shortcut (A) of the CIFAR ResNets. */
export interface SubsamplePadLayer {
  readonly kind: 'subsamplePad'
  readonly stride: number
  readonly before: number
  readonly after: number
  readonly name?: string
}
