import type { LeaseFigures } from '../engine/contract.js'
import { median } from '../median.js'
import { boundOfGain, pacesOf } from './figures.js'
import type { Alone, Finding } from './policy-meter.js'
import type { SharingPolicy } from './sharing-policy.js'

/** How the jobs have trained together. */
export interface SharedOutcome {
  readonly policy: SharingPolicy
  readonly measured: boolean
  readonly gain: number
  readonly predictedGain: number
  readonly jain: number
  readonly jobs: readonly {
    readonly slowdown: number
    readonly computeSeconds: number
    readonly waitSeconds: number
    readonly leaseSeconds: number
    readonly leaseProcessorSeconds: number
  }[]
}

/** What was measured of a set of jobs. */
export interface MeasuredSet {
  readonly jobs: readonly number[]
  alone: Alone | undefined
  readonly findings: Finding[]
}

interface SharedDevice {
  /** How the device was shared last. */
  readonly policy: SharingPolicy
  readonly shares: readonly number[]
  /** Whether the jobs exchange over one link. */
  readonly sharesLink: boolean
  /** Of each job, at the end. */
  readonly figures: readonly LeaseFigures[]
}

/** That of the set of jobs that was measured longest; all jobs were together there, unless one has ended soon. */
export function outcomeOf(sets: readonly MeasuredSet[], { policy: last, shares, sharesLink, figures }: SharedDevice): SharedOutcome {
  const longest = sets.reduce<MeasuredSet | undefined>(
    (one, other) => (one && one.findings.length >= other.findings.length ? one : other),
    undefined
  )
  // Fewer jobs may have shared the device otherwise afterwards.
  const policy = longest?.findings.at(-1)?.policy ?? last
  const findings = longest?.findings.filter((finding) => finding.policy === policy) ?? []
  const times = longest?.alone?.times.filter((_, job) => longest.jobs.includes(job)) ?? []
  const paces = shares.map((_, job) => median(findings.map(({ rates }) => pacesOf(rates, longest!.alone!.rates)[job]!)))
  const middleOf = (of: (finding: Finding) => number, otherwise: number) => (findings.length > 0 ? median(findings.map(of)) : otherwise)
  return {
    policy,
    // One after the other there is nothing to measure: the gain is 1.
    measured: findings.length > 0 || policy === 'sequential',
    gain: middleOf(({ gain }) => gain, 1),
    predictedGain: middleOf(({ predictedGain }) => predictedGain, times.length > 1 ? boundOfGain(times, { sharesLink }) : 1),
    jain: middleOf(({ jain }) => jain, 1),
    jobs: paces.map((pace, job) => ({
      slowdown: pace > 0 ? 1 / pace : 1,
      computeSeconds: figures[job]!.seconds,
      waitSeconds: figures[job]!.waited,
      leaseSeconds: figures[job]!.overhead,
      leaseProcessorSeconds: figures[job]!.processor
    }))
  }
}
