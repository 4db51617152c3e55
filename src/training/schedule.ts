import type { GroupSchedule } from '../actors/synchroniser.js'
import { invalidOption } from '../errors.js'
import { multistep } from './rates.js'
import type { Settings } from './settings.js'

/** A run in numbers of rounds: all that changes it is tied to one. */
export interface Schedule extends GroupSchedule {
  readonly rounds: number
  /** The round before which the central model is measured next: an epoch's end, or the run's. */
  readonly measuredAfter: (round: number) => number
}

/** From epochs to rounds: an epoch ends at the first round that begins with so many samples handed out. Throws INVALID_OPTION. */
export function scheduleOf(
  { batch, learners, optimiser, sma, until }: Omit<Settings, 'model' | 'data' | 'dataDir'>,
  samples: number
): Schedule {
  const anIteration = learners * batch
  const aRound = anIteration * sma.period
  const iterations = Math.min(until.steps, Math.ceil((until.epochs * samples) / anIteration))
  if (!Number.isSafeInteger(iterations * aRound)) throw invalidOption('until', until, 'use fewer epochs or steps')
  const rounds = Math.ceil(iterations / sma.period)
  const roundOf = (epoch: number) => Math.ceil((epoch * samples) / aRound)
  const epochs = (iterations * anIteration) / samples
  const { unit, at } = optimiser.milestones
  const drops = at.map((milestone) => roundOf(unit === 'run' ? milestone * epochs : milestone))
  const restarts = [...new Set(drops)].filter((round) => round < rounds)
  const milestones = drops.filter((round) => round < rounds).map((round) => round * sma.period)
  return {
    iterations,
    rounds,
    restarts,
    rates: multistep({ rate: optimiser.rate, decay: optimiser.decay, milestones }),
    measuredAfter: (round) => Math.min(rounds, roundOf(Math.floor((round * aRound) / samples) + 1))
  }
}
