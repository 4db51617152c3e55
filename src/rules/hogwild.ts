import type { AsynchronousRule } from '../engine/contract.js'
import type { Faults } from '../schema/faults.js'
import { group, option, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { oneOf, whole } from '../schema/values.js'
import { defineRule, periodOf } from './rule.js'

/** The options of asynchronous rules. */
export const boundOptions = {
  /** How far apart learners may be: in step (`bsp`), at most `slack` iterations (`ssp`), or any number (`asp`, the default without `slack`). */
  bound: option(oneOf(['bsp', 'ssp', 'asp']), {
    text: 'how far apart asynchronous learners may be: bsp, ssp or asp',
    flag: '--bound <name>',
    otherwise: 'asp'
  }),
  /** Iterations by which a learner may be ahead of the slowest, under `ssp`; 3 if omitted. */
  slack: option(whole(), {
    text: 'iterations by which a learner may be ahead of the slowest, under ssp',
    flag: '--slack <iterations>',
    otherwise: '3'
  }),
  /** Iterations of a round, of as many learners as there are: changes of the run happen at rounds. 16 if omitted. */
  period: periodOf(16)
}

const bounds = group(boundOptions)

/**
 * Hogwild: all learners train the central model itself, in place and without locks.
 *
 * Niu, Recht, Re and Wright, "Hogwild! A lock-free approach to parallelizing stochastic gradient descent", NeurIPS 2011.
 */
export const hogwild = defineRule(boundOptions, (options, _, faults): AsynchronousRule => ({
  kind: 'asynchronous',
  exchange: { kind: 'inPlace' },
  ...boundOf(options, faults)
}))

/** How far apart the learners of an asynchronous rule may be. */
export interface BoundOptions extends GivenOptions<typeof bounds>, ToldByName {}

export function boundOf(
  { bound: given, slack, period }: CheckedOptions<typeof bounds>,
  faults: Faults
): Pick<AsynchronousRule, 'slack' | 'period'> {
  const bound = given ?? (slack === undefined ? 'asp' : 'ssp')
  if (slack !== undefined && bound !== 'ssp') faults.refuse('synchroniser.slack', slack, `${bound} has none; use it with bound ssp`)
  return { slack: bound === 'ssp' ? (slack ?? 3) : bound === 'bsp' ? 0 : null, period }
}
