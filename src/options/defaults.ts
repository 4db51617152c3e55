import type { ScheduleName } from './train-options.js'

/** What a model is trained with where the caller does not say. */
export interface Defaults {
  /** Samples a learner takes in a step. */
  readonly batch: number
  readonly learningRate: number
  /** The course of the rate. */
  readonly schedule: ScheduleName
  readonly momentum: number
  readonly weightDecay: number
  readonly epochs: number
  /** Shares of the run after which `multistep` multiplies the rate by `decay`, so that a shorter run has them too. */
  readonly milestones: readonly number[]
  readonly gamma: number
  readonly syncMomentum: number
}

/**
 * Momentum is the learners' and not the central model's: with 0.9 on both, two learners are stable only at rates an order of magnitude
 * smaller.
 */
const COMMON = { schedule: 'multistep', momentum: 0.9, gamma: 0.1, syncMomentum: 0 } as const

const SMALL: Defaults = { ...COMMON, batch: 16, learningRate: 0.01, weightDecay: 5e-4, epochs: 4, milestones: [0.75] }

/** The batch and the rate that took two and four learners to 99% of MNIST soonest: bench/results/tta.md. */
const LENET: Defaults = { ...SMALL, batch: 32, learningRate: 0.02 }

const RESIDUAL: Defaults = { ...COMMON, batch: 32, learningRate: 0.05, weightDecay: 5e-4, epochs: 30, milestones: [0.5, 0.8] }

/** Once up and down takes them further than drops do, in as many epochs: docs/speed.md. The rate is from bench/results/tta.md. */
const CIFAR_RESNET: Defaults = { ...RESIDUAL, learningRate: 0.1, schedule: 'one-cycle' }

/** The usual 90 epochs of ImageNet, at the rate of 0.1 for 256 samples scaled to 32 (Goyal et al., 2017). */
const IMAGENET: Defaults = { ...COMMON, batch: 32, learningRate: 0.0125, weightDecay: 1e-4, epochs: 90, milestones: [1 / 3, 2 / 3, 8 / 9] }

const BY_MODEL: Readonly<Record<string, Defaults>> = {
  'logistic-regression': { ...SMALL, weightDecay: 0 },
  mlp: { ...SMALL, batch: 32, learningRate: 0.02, weightDecay: 1e-4, epochs: 6 },
  lenet: LENET,
  alexnet: { ...IMAGENET, learningRate: 0.0025, weightDecay: 5e-4 },
  vgg16: { ...RESIDUAL, learningRate: 0.02 },
  resnet18: IMAGENET,
  resnet34: IMAGENET,
  resnet50: IMAGENET,
  resnet101: IMAGENET,
  resnet152: IMAGENET,
  gpt: { ...COMMON, batch: 16, learningRate: 0.1, weightDecay: 0, epochs: 20, milestones: [0.8] }
}

/**
 * The rate for so many samples a step of a learner: in proportion for fewer than the usual, as their gradients are noisier (Goyal et al., 2017); more get no
 * higher rate, for what they can bear nobody knows.
 */
export function rateFor(defaults: Defaults, samples: number): number {
  return defaults.learningRate * Math.min(1, samples / defaults.batch)
}

/**
 * By the model's name alone, for a Model that a function of the zoo has made is plain data like any other: one of the user's own that is called as one of
 * the zoo has that one's defaults, too. Any other name gets those of a small network.
 */
export function defaultsFor(model: string): Defaults {
  if (Object.hasOwn(BY_MODEL, model)) return BY_MODEL[model]!
  return isCifarResnet(model) ? CIFAR_RESNET : SMALL
}

/** Whether the name is that of 6n+2 layers, as `resnet` gives it. */
function isCifarResnet(model: string): boolean {
  const depth = Number(/^resnet(\d+)$/.exec(model)?.[1])
  return depth >= 8 && depth % 6 === 2
}
