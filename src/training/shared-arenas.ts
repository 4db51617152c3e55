import { isGpu } from '../engine/gpu.js'
import { usableCores } from '../engine/machine.js'
import type { Settings } from './settings.js'

/**
 * How many arenas of activations the learners share: as many as compute at once. Undefined where each has its own: there are never more learners
 * than that, or they are the user's own, who may read activations between two calls, or their first steps are traced segment by segment, or they
 * queue their work on a GPU.
 */
export function sharedArenas({
  population,
  learner,
  threads,
  trace,
  backend
}: Pick<Settings, 'population' | 'learner' | 'threads' | 'trace' | 'backend'>): number | undefined {
  const { schedule, tuning } = population
  return arenasFor(Math.max(tuning?.most ?? 0, ...schedule.map(({ learners }) => learners)), {
    threads,
    own: learner !== undefined || (trace?.steps ?? 0) > 0 || isGpu(backend)
  })
}

/** The same for so many learners at most; `own`: they share none. */
export function arenasFor(most: number, { threads, own = false }: { threads: number; own?: boolean }): number | undefined {
  const atOnce = Math.max(1, Math.floor(usableCores() / threads))
  return !own && most > atOnce ? atOnce : undefined
}
