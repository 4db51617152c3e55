import type { Engine, Handle, LeaseFigures } from '../engine/contract.js'
import type { Rates, StepTimes } from './figures.js'

/** Milliseconds between two looks at the lease. */
const LOOK_EVERY = 10
/** A window lasts no longer, in milliseconds. */
const MOST = 8_000

/** How long a window is at least. */
export interface WindowLength {
  /** Of each job, of its learners together. */
  readonly steps: number
  readonly milliseconds: number
}

export const WINDOW: WindowLength = { steps: 16, milliseconds: 300 }

/** What the jobs have done for a while. */
export interface LeaseWindow {
  /** Steps a second. */
  readonly rates: Rates
  /** Of jobs that have had turns; for the others NaN. */
  readonly times: readonly StepTimes[]
}

export interface LeaseWindowOptions {
  readonly engine: Pick<Engine, 'leaseFigures'>
  readonly lease: Handle
  /** The jobs that make steps. */
  readonly jobs: readonly number[]
  readonly length: WindowLength
  /** Whether the jobs are not to be measured any more. */
  readonly isOver: () => boolean
}

/**
 * Measures the steps of some jobs: by the engine's own times of steps, so that the window has whole steps however late it is looked at. Undefined if it is over
 * too early, or if a job takes no steps, as while it is evaluated.
 */
export async function measured({ engine, lease, jobs, length, isOver }: LeaseWindowOptions): Promise<LeaseWindow | undefined> {
  const look = () => engine.leaseFigures(lease)
  const made = (from: readonly LeaseFigures[], steps: number) => {
    const now = look()
    return jobs.every((job) => now[job]!.steps >= from[job]!.steps + steps)
  }
  // Steps from before are still under way.
  const before = look()
  let began = performance.now()
  while (!isOver() && !made(before, 3) && performance.now() < began + MOST) await pause()
  if (!made(before, 3)) return undefined
  const from = look()
  began = performance.now()
  const isLong = () => performance.now() > began + length.milliseconds && made(from, length.steps)
  while (!isOver() && !isLong() && performance.now() < began + MOST) await pause()
  const to = look()
  if (isOver() || jobs.some((job) => to[job]!.steps < from[job]!.steps + 2)) return undefined
  const rates = to.map(({ steps, last }, job) => (steps > from[job]!.steps ? (steps - from[job]!.steps) / (last - from[job]!.last) : 0))
  return { rates, times: to.map((figures, job) => stepTimes(from[job]!, figures)) }
}

function stepTimes(from: LeaseFigures, to: LeaseFigures): StepTimes {
  const turns = to.turns - from.turns
  const step = (to.last - from.last) / turns
  return { step, compute: (to.seconds - from.seconds) / turns, exchange: (to.exchanged - from.exchanged) / turns }
}

/** Resolves when each of these jobs has made a step. */
export async function begun({ engine, lease, jobs, isOver }: LeaseWindowOptions): Promise<void> {
  while (!isOver() && jobs.some((job) => engine.leaseFigures(lease)[job]!.steps === 0)) await pause()
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LOOK_EVERY))
}
