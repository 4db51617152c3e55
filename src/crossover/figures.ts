/** What a job does in a step, measured while it has the device for itself, in seconds. */
export interface StepTimes {
  /** For which it has the device. */
  readonly compute: number
  /** For which it exchanges, and the device is idle. */
  readonly communicate: number
}

/**
 * How many times as fast several jobs can be together as one after the other, if a step of each computes and communicates in turn, the device computes for one
 * job at a time and a link that they share carries one job at a time: the bound of CrossoverScheduler (Gu et al., 2021).
 */
export function boundOfGain(jobs: readonly StepTimes[], { sharesLink }: { readonly sharesLink: boolean }): number {
  const alone = jobs.map(({ compute, communicate }) => compute + communicate)
  const computing = sum(jobs.map(({ compute }) => compute))
  const communicating = sharesLink ? sum(jobs.map(({ communicate }) => communicate)) : 0
  const together = Math.max(computing, communicating, ...alone)
  return together > 0 ? sum(alone) / together : 1
}

/** How evenly something is divided, from 1/n to 1: Jain, Chiu, Hawe, A Quantitative Measure of Fairness, DEC-TR-301, 1984. */
export function jainIndex(values: readonly number[]): number {
  const squares = sum(values.map((each) => each * each))
  return squares > 0 ? sum(values) ** 2 / (values.length * squares) : 1
}

/** Steps a second of each job. */
export type Rates = readonly number[]

/** The pace of each job together with the others, as a part of its pace alone; 0 for a job of which nothing is known. */
export function pacesOf(together: Rates, alone: Rates): readonly number[] {
  return together.map((rate, job) => (alone[job]! > 0 ? rate / alone[job]! : 0))
}

/** How many times as fast jobs are together as one after the other: 1 where two have half their pace each. */
export function gainOf(together: Rates, alone: Rates): number {
  return sum(pacesOf(together, alone))
}

/** How evenly jobs are slowed down, by the shares of the device that they shall have. */
export function fairnessOf(together: Rates, alone: Rates, shares: readonly number[]): number {
  return jainIndex(pacesOf(together, alone).map((pace, job) => pace / shares[job]!))
}

/**
 * The order of turns by which jobs have the device for times in proportion to their shares: at most 8 turns of a job, spread evenly. Undefined if one turn each
 * is as near.
 */
export function orderOfTurns(jobs: readonly { readonly compute: number; readonly share: number }[]): readonly number[] | undefined {
  const longest = Math.max(...jobs.map(({ compute, share }) => compute / share))
  const turns = jobs.map(({ compute, share }) => Math.min(8, Math.max(1, Math.round((longest * share) / compute))))
  if (turns.some((each) => !Number.isFinite(each)) || turns.every((each) => each === 1)) return undefined
  const places = turns.flatMap((count, job) => Array.from({ length: count }, (_, i) => ({ job, at: (i + 0.5) / count })))
  return places.toSorted((a, b) => a.at - b.at || a.job - b.job).map(({ job }) => job)
}

/** NaN of no values. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return NaN
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0)
}
