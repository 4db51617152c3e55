import type { Engine, Handle } from '../../engine/contract.js'
import { invalidOption } from '../../errors.js'
import { USE_SYNCHRONOUS } from '../../options/crossover.js'
import { mostLearners } from '../../schedules/population.js'
import { followerOf, ownSettings } from '../hosts/meeting.js'
import type { PreparedRun } from '../prepare/prepare.js'
import type { SharedDevice } from '../start/shared-device.js'
import { StoppedEarly } from '../stopped-early.js'
import { MemoryBudget } from './budget.js'
import { canShareArenas } from './shared-arenas.js'

/**
 * Waits for the other jobs of the device: together they must fit, and where they train one after the other, those before this one have ended. Returns the arenas that they share, if they have none of their own. Throws OUT_OF_MEMORY,
 * INVALID_OPTION for an asynchronous rule of the user's own, and a StoppedEarly.
 */
export async function admitRun(
  { settings: all, hosts, programs, need, budget, arenas }: PreparedRun,
  engine: Engine,
  shared: SharedDevice | undefined,
  stop: AbortSignal
): Promise<Handle | undefined> {
  if (!shared) return undefined
  const { rule, synchroniser } = all
  if (rule.kind === 'asynchronous') throw invalidOption('synchroniser.module', synchroniser.name, USE_SYNCHRONOUS)
  const settings = ownSettings(hosts, all)
  const bytes = need.shared + budget.ofDevice(mostLearners(settings.population)) * need.perLearner
  const persistent = bytes - arenas.reduce((sum, each) => sum + each, 0)
  // Cores that are divided into devices have arenas near to each; values that are moved away have places of their own there.
  const sharesArenas = canShareArenas(engine, settings) && settings.devices.devices.length === 1 && programs.train.arenas.staged === 0
  // What is free for all of them: the run's own limit is no part of it.
  const { free } = MemoryBudget.now(engine, { ...settings, deviceMemory: 'auto' })
  const stopped = new Promise<never>((_, reject) => {
    const refuse = () => reject(new StoppedEarly())
    if (stop.aborted) refuse()
    else stop.addEventListener('abort', refuse, { once: true })
  })
  const admitted = await Promise.race([shared.admission.admit(shared.job, { persistent, arenas, sharesArenas, free }), stopped])
  // The other hosts of the run wait for orders of the first one.
  if (!followerOf(hosts)) await Promise.race([shared.begins, stopped])
  return admitted
}
