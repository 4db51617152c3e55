import type { SynchronousRule } from '../engine/contract.js'
import type { GivenOptions, ToldByName } from '../schema/group.js'
import { defineRule, periodOf, startEpoch, type RuleContext } from './rule.js'

/** The central model becomes the mean of the learners, which begin the next round there. */
const MEAN = { kind: 'outer', learningRate: 1, momentum: 0, nesterov: false, perLearningRate: false } as const

/**
 * Local SGD: every `period` iterations z' = mean w, from which all continue.
 *
 * Stich, "Local SGD converges fast and communicates little", ICLR 2019.
 */
export const localSgd = defineRule(
  {
    /** Iterations between two means (tau). */
    period: periodOf(8)
  },
  ({ period }): SynchronousRule => ({ kind: 'synchronous', central: MEAN, adopts: true, period, from: 0 })
)

/**
 * Post-local SGD: a mean in every iteration at first, then every `period` iterations.
 *
 * Lin, Stich, Patel and Jaggi, "Don't use large mini-batches, use local SGD", ICLR 2020.
 */
export const postLocalSgd = defineRule(
  {
    /** Iterations between two means (tau). */
    period: periodOf(8),
    /** The epoch before which there is a mean in every iteration; half of the run if omitted. */
    startEpoch: startEpoch('half of the run')
  },
  ({ period, startEpoch: epoch }, { iterations, iterationAt }: Omit<RuleContext, 'learners'>): SynchronousRule => {
    const from = epoch === undefined ? Math.floor(iterations / 2) : iterationAt(epoch)
    return { kind: 'synchronous', central: MEAN, adopts: true, period, from }
  }
)

/** When the learners of `local-sgd` become their mean. */
export interface LocalSgdOptions extends GivenOptions<typeof localSgd.options>, ToldByName {}

/** When the learners of `post-local-sgd` become their mean. */
export interface PostLocalSgdOptions extends GivenOptions<typeof postLocalSgd.options>, ToldByName {}
