import type { Policy } from '../options/crossover.js'

/** A way to share the device. */
export type SharingPolicy = Exclude<Policy, 'auto'>

/** How jobs were together, as it was measured. */
export interface MeasuredPolicy {
  readonly policy: SharingPolicy
  /** Whether a job had to wait that was ahead of another one, so that all are slowed down alike. */
  readonly evenly: boolean
  /** How many times as fast as one after the other. */
  readonly gain: number
  /** Of the jobs' paces by their shares: 1 where all are slowed down alike. */
  readonly jain: number
  /** The most that the gain could be, from the times of the jobs' steps alone, and the steps that they made together. */
  readonly predictedGain: number
}

export function isSame(one: MeasuredPolicy, other: MeasuredPolicy): boolean {
  return one.policy === other.policy && one.evenly === other.evenly
}
