import type { GroupSchedule } from '../actors/group-control.js'
import { invalidOption, type ArbalestError } from '../errors.js'
import { curveOf } from '../schedules/curves.js'
import type { Duration, Progress } from '../schedules/duration.js'
import { learningRatePieces, sharedLearningRates, varyingIterations, type RunClock } from '../schedules/pieces.js'
import { changedLearningRates, constantFrom, type Intervention } from '../schedules/interventions.js'
import type { PopulationSchedule } from '../schedules/population.js'
import { timelineOf, type RunSettings } from './run-settings.js'

/** Rates that vary are stored, one for each iteration. */
const MOST_RATES = 2 ** 26

/** A run by its rounds: everything that changes during a run changes at a round's start. */
export interface Schedule extends GroupSchedule {
  readonly rounds: number
  /** Samples handed out when the run ends. */
  readonly endPosition: number
  readonly iterationOf: (round: number) => number
  /** The first round that begins at this iteration or later, or the last round if the run ends before. */
  readonly roundBy: (iteration: number) => number
  /** The round before which the central model is measured next, after this round: at a multiple of `evaluateEvery`, or at the run's end. */
  readonly measuredAfter: (round: number) => number
}

/**
 * Ties the epochs of the settings to rounds: an epoch ends at the first round that begins with all its samples handed out. The schedule up to a round
 * depends on the population up to that round only, so that a change of the population leaves the past as it was. Throws INVALID_OPTION.
 */
export function scheduleOf(
  settings: RunSettings,
  samples: number,
  population: PopulationSchedule = settings.population.schedule,
  changes: readonly Intervention[] = settings.changes
): Schedule {
  const { optimiser, rule, until, evaluateEvery } = settings
  const timeline = timelineOf(settings, population, { ...settings, changes })
  const iterations = Math.min(until.steps, timeline.iterationBy(until.epochs * samples))
  const rounds = timeline.roundBy(iterations)
  if (!Number.isSafeInteger(timeline.positionOf(timeline.iterationOf(rounds)))) throw tooLong(until, 'use fewer')
  const roundOf = (epoch: number) => timeline.roundBy(timeline.iterationBy(epoch * samples))
  const roundOfShare = (share: number) => Math.min(timeline.roundBy(share * until.steps), roundOf(share * until.epochs))
  const roundAfter = (span: Duration): number => {
    if (typeof span === 'number') return roundOf(span)
    if ('epochs' in span) return roundOf(span.epochs)
    return 'iterations' in span ? timeline.roundBy(span.iterations) : roundOfShare(span.fraction)
  }
  const progress = (iteration: number): Progress => {
    const epoch = timeline.positionOf(iteration) / samples
    return { iteration, epoch, fraction: Math.max(iteration / until.steps, epoch / until.epochs) }
  }
  const curve = curveOf(optimiser.learningRate)
  const clock: RunClock = { iterations, progress, iterationAfter: (span) => timeline.iterationOf(roundAfter(span)) }
  if (varyingIterations(curve, clock) > MOST_RATES)
    throw tooLong(until, `use fewer, or a shorter warm-up: a rate that varies is kept for at most ${MOST_RATES} iterations`)
  const { pieces, drops } = learningRatePieces(curve, clock)
  const sharing = population.map(({ round, learners }) => ({ from: timeline.iterationOf(round), learners }))
  // A rate that a program has set is the rate of each learner.
  const rates = changedLearningRates(optimiser.isShared ? sharedLearningRates(pieces, sharing) : pieces, changes)
  const averages = rule.kind === 'synchronous' && rule.central.kind === 'sma'
  return {
    iterations,
    rounds,
    endPosition: timeline.positionOf(iterations),
    iterationOf: (round) => Math.min(iterations, timeline.iterationOf(round)),
    roundBy: (iteration) => Math.min(rounds, timeline.roundBy(iteration)),
    // Under SMA the learners have weights of their own: where the rate drops, all begin anew at the central model.
    restarts: averages ? drops.map((iteration) => timeline.roundBy(iteration)).filter((round) => round < constantFrom(changes)) : [],
    learningRates:
      settings.learningRateScale === 1
        ? rates
        : rates.map((piece) => ({ from: piece.from, rates: piece.rates.map((rate) => rate * settings.learningRateScale) })),
    measuredAfter: (round) => {
      const measurements = timeline.positionOf(timeline.iterationOf(round)) / (samples * evaluateEvery)
      // In floating point a multiple of a tenth may be a little larger than the quotient of positions.
      const next = Math.floor(measurements * (1 + 1e-12)) + 1
      return Math.min(rounds, Math.max(round + 1, roundOf(next * evaluateEvery)))
    }
  }
}

/** Names the option that makes the run as long as it is. */
function tooLong({ epochs, steps }: RunSettings['until'], fix: string): ArbalestError {
  return epochs < Infinity ? invalidOption('until.epochs', epochs, fix) : invalidOption('until.steps', steps, fix)
}
