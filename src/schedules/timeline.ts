import type { PopulationSchedule } from './population.js'

/** From this round on a round has so many iterations. */
export interface PeriodChange {
  readonly round: number
  readonly period: number
}

/** This round begins at this iteration: the run had ended there before, and had cut the round before short. */
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

/** Rounds that are all alike, and what lies before the first of them. */
interface Span {
  readonly round: number
  readonly iteration: number
  readonly position: number
  /** Iterations a round, and samples an iteration of all learners. */
  readonly period: number
  readonly samples: number
}

/** Rounds, iterations and samples handed out, each by the others, while the number of learners changes. */
export class Timeline {
  readonly #spans: readonly Span[]

  constructor({ population, periods, cuts, batch }: TimelineOptions) {
    const starts = [...new Set([...population, ...periods, ...cuts].map(({ round }) => round))].toSorted((a, b) => a - b)
    const spans: Span[] = []
    for (const round of starts) {
      const { learners } = population.findLast((change) => change.round <= round)!
      const { period } = periods.findLast((change) => change.round <= round)!
      const before = spans.at(-1)
      const cut = cuts.find((each) => each.round === round)
      const iteration = cut?.iteration ?? (before ? iterationIn(before, round) : 0)
      spans.push({ round, iteration, position: before ? positionIn(before, iteration) : 0, period, samples: learners * batch })
    }
    this.#spans = spans
  }

  /** The first iteration of a round. */
  iterationOf(round: number): number {
    return iterationIn(this.#last('round', round), round)
  }

  /** Samples handed out before an iteration. */
  positionOf(iteration: number): number {
    return positionIn(this.#last('iteration', iteration), iteration)
  }

  /** The first iteration that begins with so many samples handed out. */
  iterationBy(position: number): number {
    const { iteration, position: from, samples } = this.#last('position', position)
    return iteration + atLeast((position - from) / samples)
  }

  /** The first round that begins at this iteration or later. */
  roundBy(iteration: number): number {
    const span = this.#last('iteration', iteration)
    const next = this.#spans[this.#spans.indexOf(span) + 1]
    return Math.min(span.round + atLeast((iteration - span.iteration) / span.period), next?.round ?? Infinity)
  }

  #last(what: 'round' | 'iteration' | 'position', value: number): Span {
    return this.#spans.findLast((span) => span[what] <= value)!
  }
}

function iterationIn({ round, iteration, period }: Span, wanted: number): number {
  return iteration + (wanted - round) * period
}

function positionIn({ iteration, position, samples }: Span, wanted: number): number {
  return position + (wanted - iteration) * samples
}

/** Rounded up, but for what the arithmetic of shares and epochs leaves over. */
function atLeast(value: number): number {
  return value === Infinity ? value : Math.ceil(value - Math.max(1e-9, 1e-12 * value))
}
