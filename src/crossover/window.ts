import type { Engine, Handle, LeaseFigures } from '../engine/contract.js'
import { poll } from '../poll.js'
import type { Rates, StepTimes } from './figures.js'

/** A window lasts no longer, in milliseconds. */
const MOST = 30_000
/** Jobs that make few rounds in this time, in milliseconds, are measured by so many rounds, after one round that is not measured. */
const SLOW = { rounds: 4, milliseconds: 3000, warm: 1000 }
/** So many rounds are enough of a job whose mean is known to this part of it, by their spread. */
const STEADY = { rounds: 3, error: 0.02 }

/** How long a window is at least. */
export interface WindowLength {
  /** Of each job. */
  readonly rounds: number
  readonly milliseconds: number
}

export const WINDOW: WindowLength = { rounds: 8, milliseconds: 300 }

/** What the jobs have done for a while. */
export interface LeaseWindow {
  /** Rounds a second. */
  readonly rates: Rates
  /** NaN for jobs that have made no round, and `compute` for those that have had no turn. */
  readonly times: readonly StepTimes[]
}

export interface LeaseWindowOptions {
  readonly engine: Pick<Engine, 'leaseFigures'>
  readonly lease: Handle
  /** The jobs that train. */
  readonly jobs: readonly number[]
  readonly length: WindowLength
  /** Whether the jobs are not to be measured any more. */
  readonly isOver: () => boolean
}

/**
 * Measures the rounds of some jobs by the engine's own times of them, so that the window has whole rounds however late it is looked at. Undefined if it is over
 * too early, or if a job makes none, as while it is evaluated.
 */
export async function measured({ engine, lease, jobs, length, isOver }: LeaseWindowOptions): Promise<LeaseWindow | undefined> {
  const look = () => engine.leaseFigures(lease)
  const made = (from: readonly LeaseFigures[], rounds: number) => {
    const now = look()
    return jobs.every((job) => now[job]!.rounds >= from[job]!.rounds + rounds)
  }
  // Rounds from before are still under way.
  const before = look()
  let began = performance.now()
  const isWarm = () => made(before, 2) || (performance.now() > began + SLOW.warm && made(before, 1))
  await poll(() => isOver() || isWarm() || performance.now() >= began + MOST)
  if (!isWarm()) return undefined
  const from = look()
  const spreads = jobs.map((job) => new RoundSpread(from[job]!))
  began = performance.now()
  const lasts = ({ rounds, milliseconds }: WindowLength) => performance.now() > began + milliseconds && made(from, rounds)
  const isSteady = () => {
    const now = look()
    for (const [i, job] of jobs.entries()) spreads[i]!.add(now[job]!)
    return lasts({ ...STEADY, milliseconds: length.milliseconds }) && spreads.every(({ error }) => error <= STEADY.error)
  }
  await poll(() => isOver() || isSteady() || lasts(length) || lasts(SLOW) || performance.now() >= began + MOST)
  const to = look()
  if (isOver() || !made(from, 2)) return undefined
  const times = to.map((figures, job) => stepTimes(from[job]!, figures))
  return { rates: times.map(({ step }) => (step > 0 ? 1 / step : 0)), times }
}

function stepTimes(from: LeaseFigures, to: LeaseFigures): StepTimes {
  const rounds = to.rounds - from.rounds
  const each = (total: number) => (rounds > 0 ? total / rounds : NaN)
  return {
    step: each(to.last - from.last),
    compute: (to.seconds - from.seconds) / (to.turns - from.turns),
    exchange: each(to.exchanged - from.exchanged)
  }
}

/** How well the mean time of a job's rounds is known. */
export class RoundSpread {
  #at: Pick<LeaseFigures, 'rounds' | 'last'>
  readonly #looks: { readonly rounds: number; readonly seconds: number }[] = []

  constructor(from: Pick<LeaseFigures, 'rounds' | 'last'>) {
    this.#at = from
  }

  add(now: Pick<LeaseFigures, 'rounds' | 'last'>): void {
    if (now.rounds === this.#at.rounds) return
    this.#looks.push({ rounds: now.rounds - this.#at.rounds, seconds: now.last - this.#at.last })
    this.#at = now
  }

  /** The standard error of the mean, as a part of it; infinite of fewer than three looks that have seen rounds. */
  get error(): number {
    if (this.#looks.length < 3) return Infinity
    const total = (of: 'rounds' | 'seconds') => this.#looks.reduce((sum, look) => sum + look[of], 0)
    const mean = total('seconds') / total('rounds')
    const squares = this.#looks.reduce((sum, { rounds, seconds }) => sum + (seconds - mean * rounds) ** 2 / rounds, 0)
    return Math.sqrt(squares / (this.#looks.length - 1) / total('rounds')) / mean
  }
}

/** Resolves when each of these jobs has made a round. */
export async function begun({ engine, lease, jobs, isOver }: LeaseWindowOptions): Promise<void> {
  await poll(() => isOver() || jobs.every((job) => engine.leaseFigures(lease)[job]!.rounds > 0))
}
