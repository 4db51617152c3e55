import type { AsynchronousRule } from '../engine/contract.js'
import { option, type GivenOptions, type ToldByName } from '../schema/group.js'
import { whole } from '../schema/values.js'
import { boundOf, boundOptions } from './hogwild.js'
import { defineRule, LONGEST_PERIOD } from './rule.js'

const iterations = (text: string, flag: string) => option(whole({ min: 1, max: LONGEST_PERIOD }), { text, flag, default: 1 })

/**
 * Downpour SGD: a learner takes the central model every `fetchPeriod` of its iterations, and adds all its updates since the last time to it every
 * `pushPeriod`.
 *
 * Dean et al., "Large scale distributed deep networks", NeurIPS 2012. The bounds: Ho et al., "More effective distributed ML via a stale
 * synchronous parallel parameter server", NeurIPS 2013.
 */
export const downpour = defineRule(
  {
    ...boundOptions,
    /** Iterations of a learner between two pushes; 1 if omitted. */
    pushPeriod: iterations('iterations of a learner between two pushes', '--push-period <iterations>'),
    /** Iterations of a learner between two fetches; 1 if omitted. */
    fetchPeriod: iterations('iterations of a learner between two fetches', '--fetch-period <iterations>')
  },
  ({ pushPeriod: push, fetchPeriod: fetch, ...bound }, _, faults): AsynchronousRule => ({
    kind: 'asynchronous',
    exchange: { kind: 'push', push, fetch },
    ...boundOf(bound, faults)
  })
)

/** How often a learner of `downpour` meets the central model, and how far apart the learners may be. */
export interface DownpourOptions extends GivenOptions<typeof downpour.options>, ToldByName {}
