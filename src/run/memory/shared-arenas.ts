import { isGpu } from '../../engine/gpu.js'
import { usableCores } from '../../engine/machine.js'
import type { Settings } from '../../options/settings.js'
import type { DeviceSettings } from '../../options/devices.js'

/**
 * How many arenas of activations the learners of each device share: as many as compute there at once. Undefined where each learner has its own: there
 * are never more learners than that, or they are the user's own, who may read activations between two calls, or their first steps are traced segment
 * by segment, or they queue their work on a GPU.
 */
export function sharedArenas({
  population: { schedule, tuning },
  learner,
  threads,
  trace,
  backend,
  devices: { devices }
}: Pick<Settings, 'population' | 'learner' | 'threads' | 'trace' | 'backend' | 'devices'>): readonly number[] | undefined {
  if (learner !== undefined || (trace?.steps ?? 0) > 0 || isGpu(backend)) return undefined
  return arenasFor(Math.max(tuning?.most ?? 0, ...schedule.map(({ learners }) => learners)), { threads, devices })
}

/** The same for so many learners at most, on the devices by turns. A device without cores of its own has all of the process. */
export function arenasFor(
  most: number,
  { threads, devices = [{ cores: [] }] }: { threads: number; devices?: readonly DeviceSettings[] },
  usable = usableCores()
): readonly number[] | undefined {
  const declared = devices.reduce((sum, { cores }) => sum + cores.length, 0)
  const counts = devices.map(({ cores }, device) => {
    const there = Math.ceil((most - device) / devices.length)
    // A process may have the time of fewer cores than it may run on: each device has its share of that.
    const own = cores.length > 0 ? (cores.length * Math.min(usable, declared)) / declared : usable
    const atOnce = Math.max(1, Math.floor(own / threads))
    return Math.min(there, atOnce)
  })
  return totalArenas(counts) < most ? counts : undefined
}

/** The arenas of all devices together. */
export function totalArenas(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}
