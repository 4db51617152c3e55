import type { GroupSchedule } from '../actors/synchroniser.js'
import { invalidOption } from '../errors.js'
import { multistep } from './rates.js'
import type { Settings } from './settings.js'

/** A run in numbers of rounds: all that changes it is tied to one. */
export interface Schedule extends GroupSchedule {
  /** Rounds before which the central model is measured, rising; the last one is the run's end. */
  readonly evaluations: readonly number[]
}

/** From epochs to rounds: an epoch ends at the first round that begins with so many samples handed out. */
export function scheduleOf({ batch, learners, optimiser, sma, until }: Omit<Settings, 'model' | 'data' | 'dataDir'>, samples: number): Schedule {
  const anIteration = learners * batch
  const iterations = Math.min(until.steps, Math.ceil((until.epochs * samples) / anIteration))
  if (!Number.isSafeInteger(iterations)) throw invalidOption('until', until, 'use fewer epochs or steps')
  const rounds = Math.ceil(iterations / sma.period)
  const roundOf = (epoch: number) => Math.ceil((epoch * samples) / (anIteration * sma.period))
  const epochs = (iterations * anIteration) / samples
  const { unit, at } = optimiser.milestones
  const restarts = at.map((milestone) => roundOf(unit === 'run' ? milestone * epochs : milestone)).filter((round) => round < rounds)
  const ends: number[] = []
  for (let epoch = 1; roundOf(epoch) < rounds; epoch++) ends.push(roundOf(epoch))
  const milestones = restarts.map((round) => round * sma.period)
  return {
    iterations,
    restarts,
    rates: multistep({ rate: optimiser.rate, decay: optimiser.decay, milestones }, iterations),
    evaluations: [...new Set([...ends, rounds])]
  }
}
