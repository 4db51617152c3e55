/** What a job does in a step, or in a round of several steps, while it has the device for itself; in seconds. */
export interface StepTimes {
  /** From one step to the next. Less than both others together where the job exchanges while it computes. */
  readonly step: number
  /** For which it has the device. */
  readonly compute: number
  /** For which it has something under way to other hosts. */
  readonly exchange: number
}

interface BoundOptions {
  /** Whether the jobs exchange over one link. */
  readonly sharesLink: boolean
  /** How many steps each job makes while the others make theirs; one each if omitted. */
  readonly steps?: readonly number[]
}

/**
 * How many times as fast several jobs can be together as one after the other, if the device computes for one job at a time, a link that they share carries one
 * job's exchange at a time, and no job is faster than alone. Where no job exchanges while it computes this is the bound of CrossoverScheduler (2021).
 */
export function boundOfGain(jobs: readonly StepTimes[], { sharesLink, steps = jobs.map(() => 1) }: BoundOptions): number {
  const times = (of: (job: StepTimes) => number) => jobs.map((job, number) => steps[number]! * of(job))
  const alone = times(({ step }) => step)
  const exchanging = sharesLink ? sum(times(({ exchange }) => exchange)) : 0
  const together = Math.max(sum(times(({ compute }) => compute)), exchanging, ...alone)
  return together > 0 ? sum(alone) / together : 1
}

/** How evenly something is divided, from 1/n to 1: Jain, Chiu, Hawe, A Quantitative Measure of Fairness, DEC-TR-301, 1984. */
export function jainIndex(values: readonly number[]): number {
  const squares = sum(values.map((each) => each * each))
  return squares > 0 ? sum(values) ** 2 / (values.length * squares) : 1
}

/** Rounds a second of each job. */
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

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0)
}
