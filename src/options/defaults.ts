import type { Defaults } from '../model/zoo/index.js'

export { defaultsFor, type Defaults } from '../model/zoo/index.js'

/**
 * The rate for a number of samples in a learner's step: for fewer than the usual in proportion, as their gradients are noisier (Goyal et al., 2017); for
 * more the same, because it is not known how much more they bear.
 */
export function rateFor(defaults: Defaults, samples: number): number {
  return defaults.learningRate * Math.min(1, samples / defaults.batch)
}
