import { invalidOption } from '../errors.js'
import type { ExitReason } from './actor.js'

/** When an actor that has ended is started again: always, when it failed, never. An actor that was asked to stop stays stopped. */
export type RestartType = 'permanent' | 'transient' | 'temporary'

/** Who is restarted with a child: nobody, those spawned after it, all. */
export type Strategy = 'oneForOne' | 'restForOne' | 'allForOne'

/** How often children may fail: more than `restarts` times within `within` milliseconds is too often, and their parent fails. */
export interface Intensity {
  readonly restarts: number
  readonly within: number
}

/** Milliseconds before a restart: `first`, then `factor` times as long at each failure within the window, up to `longest`. */
export interface Backoff {
  readonly first: number
  readonly factor: number
  readonly longest: number
  /** Share of the delay by which chance shortens it, so that what failed together does not come back together. */
  readonly jitter: number
}

/** What becomes of children that fail: which are restarted, how often, how soon. */
export interface Supervision {
  readonly strategy?: Strategy
  readonly intensity?: Intensity
  readonly backoff?: Partial<Backoff>
}

export const DEFAULT_SUPERVISION = {
  strategy: 'oneForOne',
  intensity: { restarts: 5, within: 60_000 },
  backoff: { first: 10, factor: 2, longest: 5_000, jitter: 0.2 }
} as const satisfies Supervision

/** Throws INVALID_OPTION. */
export function checkSupervision({ intensity }: Supervision): void {
  if (intensity && !(intensity.restarts >= 0 && intensity.within > 0)) {
    throw invalidOption('intensity', intensity, 'use restarts of 0 or more within more than 0 milliseconds')
  }
}

/** A failure that a parent remembers. */
export interface Failure {
  readonly at: number
  readonly reason: ExitReason
}

export type Decision =
  | { readonly kind: 'leave' }
  | { readonly kind: 'restart'; readonly delay: number; readonly failures: readonly Failure[] }
  | { readonly kind: 'escalate'; readonly failures: readonly Failure[] }

/**
 * What to do about a child that has ended of itself. `past` are the failures that the parent remembers; the decision brings those to
 * remember from now on, the oldest first. `chance` is in [0, 1). Pure. Restart intensity as in Erlang/OTP's supervisor.
 */
export function decide(
  type: RestartType,
  failure: Failure,
  past: readonly Failure[],
  intensity: Intensity,
  backoff: Backoff,
  chance: number
): Decision {
  if (type === 'temporary' || (type === 'transient' && failure.reason.kind === 'stopped')) return { kind: 'leave' }
  const failures = [...past.filter(({ at }) => failure.at - at < intensity.within), failure]
  if (failures.length > intensity.restarts) return { kind: 'escalate', failures }
  const whole = Math.min(backoff.longest, backoff.first * backoff.factor ** (failures.length - 1))
  return { kind: 'restart', delay: whole * (1 - backoff.jitter * chance), failures }
}

/** A child's siblings and itself that are restarted with it, in the order of their start. */
export function affected<T>(strategy: Strategy, children: readonly T[], child: T): readonly T[] {
  if (strategy === 'oneForOne') return [child]
  return strategy === 'allForOne' ? children : children.slice(children.indexOf(child))
}
