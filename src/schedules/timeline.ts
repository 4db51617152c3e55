import type { PopulationSchedule } from './population.js'

/** The iterations of a round, from a round on. */
export interface PeriodChange {
  readonly round: number
  readonly period: number
}

/** A round that begins at this iteration: the run had ended there before, in the middle of the round before. */
export interface Cut {
  readonly round: number
  readonly iteration: number
}

export interface TimelineOptions {
  readonly population: PopulationSchedule
  readonly periods: readonly PeriodChange[]
  readonly cuts: readonly Cut[]
  /** Samples a learner takes in an iteration. */
  readonly batch: number
}

/** Rounds with the same period and the same learners. */
interface Stretch {
  /** Where it begins; the position counts samples. */
  readonly round: number
  readonly iteration: number
  readonly position: number
  /** Iterations of a round, and samples of an iteration of all learners. */
  readonly period: number
  readonly samples: number
}

/** Converts between rounds, iterations and positions in the data, while the number of learners changes. */
export class Timeline {
  readonly #stretches: readonly Stretch[]

  constructor({ population, periods, cuts, batch }: TimelineOptions) {
    const starts = [...new Set([...population, ...periods, ...cuts].map(({ round }) => round))].toSorted((a, b) => a - b)
    const stretches: Stretch[] = []
    for (const round of starts) {
      const { learners } = population.findLast((change) => change.round <= round)!
      const { period } = periods.findLast((change) => change.round <= round)!
      const before = stretches.at(-1)
      const cut = cuts.find((each) => each.round === round)
      const iteration = cut?.iteration ?? (before ? iterationIn(before, round) : 0)
      stretches.push({ round, iteration, position: before ? positionIn(before, iteration) : 0, period, samples: learners * batch })
    }
    this.#stretches = stretches
  }

  /** The first iteration of a round. */
  iterationOf(round: number): number {
    return iterationIn(this.#last('round', round), round)
  }

  /** The samples handed out before an iteration. */
  positionOf(iteration: number): number {
    return positionIn(this.#last('iteration', iteration), iteration)
  }

  /** The first iteration that begins after `position` samples were handed out. */
  iterationBy(position: number): number {
    const { iteration, position: from, samples } = this.#last('position', position)
    return iteration + atLeast((position - from) / samples)
  }

  /** The first round that begins at this iteration or later. */
  roundBy(iteration: number): number {
    const stretch = this.#last('iteration', iteration)
    const next = this.#stretches[this.#stretches.indexOf(stretch) + 1]
    return Math.min(stretch.round + atLeast((iteration - stretch.iteration) / stretch.period), next?.round ?? Infinity)
  }

  #last(what: 'round' | 'iteration' | 'position', value: number): Stretch {
    return this.#stretches.findLast((stretch) => stretch[what] <= value)!
  }
}

function iterationIn({ round, iteration, period }: Stretch, wanted: number): number {
  return iteration + (wanted - round) * period
}

function positionIn({ iteration, position, samples }: Stretch, wanted: number): number {
  return position + (wanted - iteration) * samples
}

/** Rounded up, after subtracting the rounding errors of fractions and epochs. */
function atLeast(value: number): number {
  return value === Infinity ? value : Math.ceil(value - Math.max(1e-9, 1e-12 * value))
}
