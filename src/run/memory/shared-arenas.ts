import type { Engine } from '../../engine/contract.js'
import { usableCores } from '../../engine/machine.js'
import type { DeviceSettings } from '../../options/devices.js'
import type { Settings } from '../../options/settings.js'
import { mostLearners } from '../../schedules/population.js'

/**
 * Whether learners can compute in arenas that others use, too: not if a learner is the user's own, which may read activations between two calls; if first
 * steps are traced segment by segment; or if learners queue their work on streams, which may still run when the next learner begins.
 */
export function canShareArenas(engine: Engine, { learner, trace, backend }: Pick<Settings, 'learner' | 'trace' | 'backend'>): boolean {
  return learner === undefined && (trace?.steps ?? 0) === 0 && !engine.capabilities(backend).streams
}

/**
 * The number of arenas of activations that the learners of each device share: as many as learners that compute there at once. Undefined if each learner
 * has activations of its own: if there are never more learners than that, or if learners cannot share arenas.
 */
export function sharedArenas(
  engine: Engine,
  settings: Pick<Settings, 'population' | 'learner' | 'threads' | 'trace' | 'backend' | 'devices'>
): readonly number[] | undefined {
  if (!canShareArenas(engine, settings)) return undefined
  const { population, threads, devices } = settings
  return arenasFor(mostLearners(population), { threads, devices: devices.devices })
}

/** As `sharedArenas`, for at most `most` learners, which the devices get in turns. A device without cores of its own may use all cores. */
export function arenasFor(
  most: number,
  { threads, devices = [{ cores: [] }] }: { threads: number; devices?: readonly DeviceSettings[] },
  usable = usableCores()
): readonly number[] | undefined {
  const declared = devices.reduce((sum, { cores }) => sum + cores.length, 0)
  const counts = devices.map(({ cores }, device) => {
    const learners = Math.ceil((most - device) / devices.length)
    // A process may be allowed the time of fewer cores than it may run on: each device gets its share of that time.
    const own = cores.length > 0 ? (cores.length * Math.min(usable, declared)) / declared : usable
    const atOnce = Math.max(1, Math.floor(own / threads))
    return Math.min(learners, atOnce)
  })
  return totalArenas(counts) < most ? counts : undefined
}

/** The number of arenas of all devices. */
export function totalArenas(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}
