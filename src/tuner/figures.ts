import type { PopulationFigures } from '../observe/events.js'
import type { Tally } from './tally.js'

export function figuresOf(tallies: ReadonlyMap<number, Tally>): PopulationFigures[] {
  return [...tallies].map(([population, tally]) => figure(population, tally))
}

function figure(population: number, tally: Tally): PopulationFigures {
  return {
    learners: population,
    samplesPerSecond: Math.exp(tally.mean),
    std: tally.windows > tally.visits ? Math.sqrt(tally.squares / (tally.windows - tally.visits)) : 0,
    windows: tally.windows
  }
}
