/** What a model is trained with where the caller does not say. */
export interface Defaults {
  /** Samples a learner takes in a step. */
  readonly batch: number
  readonly rate: number
  readonly momentum: number
  readonly weightDecay: number
  readonly epochs: number
  /** Shares of the run after which the rate is multiplied by `decay`, so that a shorter run has them too. */
  readonly milestones: readonly number[]
  readonly decay: number
  readonly syncMomentum: number
}

/**
 * Momentum is the learners' and not the central model's: with 0.9 on both, two learners are stable only at rates an order of magnitude
 * smaller.
 */
const COMMON = { momentum: 0.9, decay: 0.1, syncMomentum: 0 }

const SMALL: Defaults = { ...COMMON, batch: 16, rate: 0.01, weightDecay: 5e-4, epochs: 4, milestones: [0.75] }

const RESIDUAL: Defaults = { ...COMMON, batch: 32, rate: 0.05, weightDecay: 5e-4, epochs: 30, milestones: [0.5, 0.8] }

const BY_MODEL: Readonly<Record<string, Defaults>> = {
  'logistic-regression': { ...SMALL, weightDecay: 0 },
  mlp: { ...SMALL, batch: 32, rate: 0.02, weightDecay: 1e-4, epochs: 6 },
  lenet: SMALL
}

/** By the zoo's name; a model of the user's own gets those of a small network. */
export function defaultsFor(model: string): Defaults {
  return BY_MODEL[model] ?? (/^resnet\d+$/.test(model) ? RESIDUAL : SMALL)
}
