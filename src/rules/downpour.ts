import type { AsynchronousRule } from '../engine/contract.js'
import { RuleOptions } from './rule-options.js'

/** How far apart learners may be: all in step (`bsp`), at most `slack` iterations (`ssp`), or as far as they go (`asp`). */
export interface BoundOptions {
  readonly bound?: 'bsp' | 'ssp' | 'asp'
  /** Iterations by which a learner may be ahead of the slowest; under `ssp`. */
  readonly slack?: number
  /** A round, which all that changes a run is tied to, is so many iterations of as many learners as there are. */
  readonly period?: number
}

/** How often a learner of `downpour` meets the central model; 1 of its iterations if left out. */
export interface DownpourOptions extends BoundOptions {
  /** Iterations of a learner between two pushes. */
  readonly pushPeriod?: number
  /** Iterations of a learner between two fetches. */
  readonly fetchPeriod?: number
}

/**
 * Downpour SGD: a learner takes the central model every `fetchPeriod` of its iterations, and adds all its updates since the last time to it every
 * `pushPeriod`.
 *
 * Dean et al., "Large scale distributed deep networks", NeurIPS 2012. The bounds: Ho et al., "More effective distributed ML via a stale
 * synchronous parallel parameter server", NeurIPS 2013.
 */
export function downpour(given: DownpourOptions): AsynchronousRule {
  const options = new RuleOptions(given)
  const push = options.whole('pushPeriod', 1)
  const fetch = options.whole('fetchPeriod', 1)
  const bounds = boundsOf(options, given)
  options.done()
  return { kind: 'asynchronous', exchange: { kind: 'push', push, fetch }, ...bounds }
}

export function boundsOf(options: RuleOptions, given: BoundOptions): Pick<AsynchronousRule, 'slack' | 'period'> {
  const bound = options.name('bound', given.slack === undefined ? 'asp' : 'ssp', ['bsp', 'ssp', 'asp'])
  const slack = options.whole('slack', 3, 0)
  if (given.slack !== undefined && bound !== 'ssp') options.refuse('slack', given.slack, `${bound} has none; use it with bound ssp`)
  return { slack: bound === 'ssp' ? slack : bound === 'bsp' ? 0 : null, period: options.whole('period', 16) }
}
