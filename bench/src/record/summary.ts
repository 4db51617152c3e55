import { mean, median, standardDeviation } from '../statistics.js'
import type { Contestant } from './journal.js'
import type { RunResult } from './run.js'

export interface Figures {
  readonly n: number
  readonly mean: number
  readonly median: number
  readonly min: number
  readonly max: number
  /** The standard deviation of the sample; null for a single run. */
  readonly std: number | null
}

export function figuresOf(values: readonly number[]): Figures {
  return {
    n: values.length,
    mean: mean(values),
    median: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
    std: values.length < 2 ? null : standardDeviation(values)
  }
}

/** The test accuracy that a run is to reach. */
export const TARGET = 0.94

export interface Summary {
  readonly seconds: Figures
  readonly wallSeconds: Figures
  readonly accuracy: Figures
  readonly plainAccuracy: Figures
  /** The share of runs that have reached the target. */
  readonly reached: number
}

/** A side's summary, as it is printed and saved. */
export interface NamedSummary extends Summary {
  readonly bench: 'record'
  readonly contestant: Contestant
  readonly target: number
}

/** Mean and spread of the runs of a side; undefined without any. */
export function summaryOf(runs: readonly RunResult[]): Summary | undefined {
  if (runs.length === 0) return undefined
  const of = (name: keyof RunResult): Figures => figuresOf(runs.map((run) => run[name]))
  return {
    seconds: of('seconds'),
    wallSeconds: of('wallSeconds'),
    accuracy: of('accuracy'),
    plainAccuracy: of('plainAccuracy'),
    reached: runs.filter(({ accuracy }) => accuracy >= TARGET).length / runs.length
  }
}
