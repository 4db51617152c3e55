import type { Defaults } from '../model/zoo/index.js'

export { defaultsFor, type Defaults } from '../model/zoo/index.js'

/**
 * The learning rate for a learner's step of this many samples: smaller in proportion to fewer samples than usual, because their gradients are noisier
 * (Goyal et al., 2017); never larger, because no measurement says how much a larger batch bears.
 */
export function learningRateFor(defaults: Defaults, samples: number): number {
  return defaults.learningRate * Math.min(1, samples / defaults.batch)
}
