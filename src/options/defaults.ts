import type { Defaults } from '../model/zoo/index.js'

export { defaultsFor, type Defaults } from '../model/zoo/index.js'

/** Of a model that was trained before: smaller steps keep what it knows, and fewer of them are needed. */
export function fineTuning(defaults: Defaults): Defaults {
  return { ...defaults, learningRate: defaults.learningRate / 10, epochs: Math.min(defaults.epochs, 3) }
}

/**
 * The learning rate for a learner's step of this many samples: smaller in proportion to fewer samples than usual, because their gradients are noisier
 * (Goyal et al., 2017); never larger, because no measurement says how much a larger batch bears.
 */
export function learningRateFor(defaults: Defaults, samples: number): number {
  return defaults.learningRate * Math.min(1, samples / defaults.batch)
}
