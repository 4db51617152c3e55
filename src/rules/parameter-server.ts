import type { AsynchronousRule, SynchronousRule } from '../engine/contract.js'
import type { Faults } from '../schema/faults.js'
import { option, type GivenOptions, type ToldByName } from '../schema/group.js'
import { wholeFromText } from '../schema/from-text.js'
import { either, oneOf, truth, whole, withForm } from '../schema/values.js'
import { defineRule } from './rule.js'

/** Iterations of a round, where no slack bounds the learners. */
const PERIOD = 16
/** The engine's bound. */
const MOST_SLACK = 64

const slackOrNone = withForm(
  either([whole({ max: MOST_SLACK }), oneOf(['none'])], (value) => (typeof value === 'string' ? 1 : 0)),
  {
    takes: `whole number from 0 to ${MOST_SLACK}, or none`,
    fromText: (given, refuse) => (given === 'none' ? given : wholeFromText(given, refuse))
  }
)

/**
 * A parameter server with bounded staleness, without a server process: in iteration c a learner adopts a central model that has all updates of the iterations
 * before c - `slack`, so that it may be `slack` iterations ahead of the slowest.
 *
 * Cui et al., "GeePS: scalable deep learning on distributed GPUs with a GPU-specialized parameter server", EuroSys 2016; the bound: Ho et al., "More effective
 * distributed ML via a stale synchronous parallel parameter server", NeurIPS 2013.
 */
export const parameterServer = defineRule(
  {
    /** Iterations by which a learner may be ahead of the slowest; `none` for no bound. 0 if omitted: synchronous SGD. */
    slack: option(slackOrNone, {
      text: 'iterations by which a learner of parameter-server may be ahead of the slowest, or none for no bound',
      flag: '--slack <iterations>',
      otherwise: '0'
    }),
    /** The model that a learner adopts: that of exactly `slack` iterations ago (`bound`, the default; the same seed gives the same bits), or the newest (`latest`). */
    fresh: option(oneOf(['bound', 'latest']), {
      text: 'the central model that a learner of parameter-server adopts: as old as slack allows, or the latest',
      flag: '--fresh <name>',
      otherwise: 'bound'
    }),
    /**
     * What makes the next central model: the optimiser, by one step with the mean of all gradients, or the sum of the updates of the learners' own optimisers.
     * `updates` if omitted where `readMyWrites` or no slack needs it, else `optimiser`.
     */
    apply: option(oneOf(['optimiser', 'updates']), {
      text: 'what parameter-server applies to the central model: the optimiser with the mean gradient, or the updates of the learners',
      flag: '--apply <name>',
      otherwise: 'optimiser'
    }),
    /** A learner sees its own updates at once, those of others when slack allows. True if omitted under `updates`, which it needs. */
    readMyWrites: option(truth(), {
      text: 'whether a learner of parameter-server sees its own updates at once; needs --apply updates',
      flag: '--read-my-writes',
      otherwise: 'with updates'
    })
  },
  ({ slack = 0, fresh, apply: given, readMyWrites }, _, faults): SynchronousRule | AsynchronousRule => {
    if (slack === 'none') return unbounded({ fresh, apply: given, readMyWrites }, faults)
    const sums = takesUpdates({ slack, apply: given, readMyWrites })
    if (!sums && readMyWrites && slack > 0)
      faults.refuse('synchroniser.readMyWrites', true, 'under apply optimiser no learner has updates of its own; use apply updates')
    const how = { slack, latest: fresh === 'latest' }
    const central: SynchronousRule['central'] = sums
      ? { kind: 'updates', readMyWrites: readMyWrites ?? true, ...how }
      : { kind: 'optimiser', ...how }
    return { kind: 'synchronous', central, adopts: true, period: 1, from: 0 }
  }
)

/** Whether the learners' updates are added up, instead of their gradients being averaged. */
export function takesUpdates({ slack, apply, readMyWrites }: GivenOf<'slack' | 'apply' | 'readMyWrites'>): boolean {
  return slack === 'none' || apply === 'updates' || (apply === undefined && readMyWrites === true)
}

/** Without a bound learners add their updates as they make them, and adopt what is there. */
function unbounded(given: GivenOf<'fresh' | 'apply' | 'readMyWrites'>, faults: Faults): AsynchronousRule {
  const needed = { fresh: 'latest', apply: 'updates', readMyWrites: true } as const
  for (const [name, value] of Object.entries(needed)) {
    const received = given[name as keyof typeof needed]
    if (received !== undefined && received !== value)
      faults.refuse(`synchroniser.${name}`, received, `with slack none it is ${value}; leave it out`)
  }
  return { kind: 'asynchronous', exchange: { kind: 'push', push: 1, fetch: 1 }, slack: null, period: PERIOD }
}

/** Some of the options, as they were given or not. */
type GivenOf<Name extends keyof ParameterServerOptions> = { readonly [Key in Name]?: ParameterServerOptions[Key] | undefined }

/** How old a model the learners of `parameter-server` may adopt, and what becomes the next one. */
export interface ParameterServerOptions extends GivenOptions<typeof parameterServer.options>, ToldByName {}
