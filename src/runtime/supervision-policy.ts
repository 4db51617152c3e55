import { checkOptions, invalidOption } from '../errors.js'
import type { ExitReason } from './exit-reason.js'

/**
 * When an actor that has ended is restarted: always, if it failed, never (the restart types of Erlang/OTP). After `ref.stop()` an actor is
 * never restarted.
 */
export type RestartType = 'permanent' | 'transient' | 'temporary'

/** Which siblings are restarted together with a child: none, those spawned after it, all. */
export type RestartStrategy = 'oneForOne' | 'restForOne' | 'allForOne'

/** If children fail more than `restarts` times `within` this many milliseconds, their parent fails. */
export interface RestartIntensity {
  readonly restarts: number
  readonly within: number
}

/** How long a restart is delayed. */
export interface RestartBackoff {
  /** Milliseconds before the first restart. */
  readonly first: number
  /** How many times as long the delay is at each further failure. */
  readonly factor: number
  /** Milliseconds that a delay has at most. */
  readonly longest: number
  /** The greatest share of the delay by which it is shortened at random, so that actors that fail together do not restart together. */
  readonly jitter: number
}

/** How a parent treats children that fail: which it restarts, how often, how soon. */
export interface SupervisionPolicy {
  readonly strategy?: RestartStrategy
  readonly intensity?: RestartIntensity
  readonly backoff?: Partial<RestartBackoff>
}

export const DEFAULT_POLICY = {
  strategy: 'oneForOne',
  intensity: { restarts: 5, within: 60_000 },
  backoff: { first: 10, factor: 2, longest: 5_000, jitter: 0.2 }
} as const satisfies SupervisionPolicy

/** Throws INVALID_OPTION. */
export function checkPolicy(policy: SupervisionPolicy): void {
  checkOptions(policy, ['strategy', 'intensity', 'backoff'] satisfies (keyof SupervisionPolicy)[], 'supervision')
  const { strategy, intensity, backoff = {} }: SupervisionPolicy = policy
  checkOptions(backoff, Object.keys(DEFAULT_POLICY.backoff), 'backoff')
  if (strategy !== undefined && !['oneForOne', 'restForOne', 'allForOne'].includes(strategy)) {
    throw invalidOption('strategy', strategy, 'use oneForOne, restForOne or allForOne')
  }
  for (const [name, value] of Object.entries(backoff)) {
    if (typeof value !== 'number' || !(value >= 0)) throw invalidOption(`backoff.${name}`, value, 'use a number of 0 or more')
  }
  if (intensity !== undefined && !isIntensity(intensity)) {
    throw invalidOption('intensity', intensity, 'use restarts of 0 or more within more than 0 milliseconds')
  }
}

function isIntensity(given: RestartIntensity): boolean {
  const { restarts, within } = Object(given) as Partial<Record<keyof RestartIntensity, unknown>>
  return typeof restarts === 'number' && restarts >= 0 && typeof within === 'number' && within > 0
}

/** A failure that a parent remembers. */
export interface Failure {
  readonly at: number
  readonly reason: ExitReason
}

export type RestartDecision =
  | { readonly kind: 'leave' }
  | { readonly kind: 'restart'; readonly delay: number; readonly failures: readonly Failure[] }
  | { readonly kind: 'escalate'; readonly failures: readonly Failure[] }

/** Whether an actor that has ended without being asked to is to be restarted. */
export function isRestarted(type: RestartType, reason: ExitReason): boolean {
  return type === 'permanent' || (type === 'transient' && reason.kind !== 'stopped')
}

/**
 * What a parent does about a child that has ended without being asked to. `past` are the failures that the parent remembers; the decision
 * contains those to remember from now on, the oldest first. `chance` is in [0, 1). A pure function.
 */
export function decide(
  type: RestartType,
  failure: Failure,
  past: readonly Failure[],
  intensity: RestartIntensity,
  backoff: RestartBackoff,
  chance: number
): RestartDecision {
  if (!isRestarted(type, failure.reason)) return { kind: 'leave' }
  const failures = [...past.filter(({ at }) => failure.at - at < intensity.within), failure]
  if (failures.length > intensity.restarts) return { kind: 'escalate', failures }
  const whole = Math.min(backoff.longest, backoff.first * backoff.factor ** (failures.length - 1))
  return { kind: 'restart', delay: whole * (1 - backoff.jitter * chance), failures }
}

/** The child itself and the siblings that are restarted with it, in the order of their spawns. */
export function restartedTogether<T>(strategy: RestartStrategy, children: readonly T[], child: T): readonly T[] {
  if (strategy === 'oneForOne') return [child]
  return strategy === 'allForOne' ? children : children.slice(children.indexOf(child))
}
