/** The functions that make layers and models. */
export { composed, type ComposedLayer } from './composed.js'
export type { Initialised, WeightInitialiser } from './initialisers.js'
export type { Layer, Layers, LayerOptions, Named, Pair } from './layer.js'
export { defineModel, type Model } from './model.js'
export * from './operators/index.js'
export type { LossName } from './operators/losses.js'
