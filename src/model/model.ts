import type { ComposedOperator } from './composed.js'

/** Layers as plain data. Built by the functions of `layers.ts` or by hand; turned into a Graph by `graph-builder.ts`. */
export interface Model {
  readonly name: string
  /** One sample's shape: (C, H, W) or (F). */
  readonly input: readonly number[]
  readonly layers: readonly Layer[]
  readonly loss: 'softmaxCrossEntropy' | 'meanSquaredError'
}

export type Pair = number | readonly [number, number]

/**
 * Where a layer's weights come from. Biases are always uniform in 1/sqrt(fan-in), as in PyTorch.
 *
 * - `kaimingUniform`: uniform within 1/sqrt(fan-in), PyTorch's default for convolutions and linear layers.
 * - `heNormal`: normal with deviation sqrt(2/fan-out), which keeps the gradients' variance through ReLUs (He et al., ICCV 2015).
 */
export type WeightInitialiser = 'kaimingUniform' | 'heNormal'

export type Layer =
  | Conv2dLayer
  | LinearLayer
  | BatchNorm2dLayer
  | { readonly kind: 'relu'; readonly name?: string }
  | PoolLayer
  | { readonly kind: 'globalAvgPool'; readonly name?: string }
  | { readonly kind: 'flatten'; readonly name?: string }
  | { readonly kind: 'dropout'; readonly rate: number; readonly name?: string }
  | ResidualLayer
  | SubsamplePadLayer
  | ComposedLayer

export interface Conv2dLayer {
  readonly kind: 'conv2d'
  readonly filters: number
  readonly kernel: Pair
  readonly stride?: Pair
  readonly padding?: Pair
  readonly groups?: number
  readonly bias?: boolean
  readonly initialiser?: WeightInitialiser
  readonly name?: string
}

export interface LinearLayer {
  readonly kind: 'linear'
  readonly features: number
  readonly bias?: boolean
  readonly initialiser?: WeightInitialiser
  readonly name?: string
}

export interface BatchNorm2dLayer {
  readonly kind: 'batchNorm2d'
  readonly epsilon?: number
  readonly name?: string
}

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
  readonly relu?: boolean
  readonly name?: string
}

/** An operator of the user's own, from a module. */
export interface ComposedLayer {
  readonly kind: 'composed'
  /** Address of the module that exports a ComposedOperator. */
  readonly module: string
  /** Plain data for the operator. */
  readonly options?: unknown
  /** The operator itself, once the module is loaded. */
  readonly operator?: ComposedOperator
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
