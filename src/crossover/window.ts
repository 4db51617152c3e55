import type { Engine, Handle, LeaseFigures } from '../engine/contract.js'
import type { Rates, StepTimes } from './figures.js'

/** Milliseconds between two looks at the lease. */
const LOOK_EVERY = 10
/** A window lasts no longer, in milliseconds. */
const MOST = 30_000
/** Jobs that make few rounds in this time, in milliseconds, are measured by so many rounds. */
const SLOW = { rounds: 4, milliseconds: 3000 }

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
  while (!isOver() && !made(before, 2) && performance.now() < began + MOST) await pause()
  if (!made(before, 2)) return undefined
  const from = look()
  began = performance.now()
  const lasts = ({ rounds, milliseconds }: WindowLength) => performance.now() > began + milliseconds && made(from, rounds)
  while (!isOver() && !lasts(length) && !lasts(SLOW) && performance.now() < began + MOST) await pause()
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

/** Resolves when each of these jobs has made a round. */
export async function begun({ engine, lease, jobs, isOver }: LeaseWindowOptions): Promise<void> {
  while (!isOver() && jobs.some((job) => engine.leaseFigures(lease)[job]!.rounds === 0)) await pause()
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LOOK_EVERY))
}
