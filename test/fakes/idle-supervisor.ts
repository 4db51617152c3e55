import type { SpawnLearner } from '../../src/actors/place.js'
import { Supervisor } from '../../src/actors/supervisor.js'
import type { Engine } from '../../src/engine/contract.js'
import { Later } from '../../src/runtime/actor.js'
import type { ActorRef } from '../../src/runtime/ref.js'
import type { Spawner } from '../../src/runtime/spawning.js'
import type { ActorSystem } from '../../src/runtime/system.js'

/** Comes up at once, and trains for ever. */
class IdleLearner {
  replica(): number {
    return 7
  }

  train(): Later<never> {
    return new Later(new Promise(() => {}))
  }

  die(): void {
    throw new RangeError('told to die')
  }
}

const engine = {
  stop: () => {},
  evict: () => {},
  join: () => 0,
  groupStatus: () => ({ round: 0, iterations: 0, position: 0, members: [], arrived: [], notFiniteAt: -1 })
} as Partial<Engine> as Engine

/** A supervisor that has started its learners, who do nothing. Each of them, and of those to come, waits for `mayStart` before it is made. */
export async function idleSupervisor(
  system: ActorSystem,
  learners: number,
  mayStart: (learner: number) => Promise<void> | void = () => {}
): Promise<{ readonly supervisor: ActorRef<Supervisor>; readonly idlers: readonly ActorRef<IdleLearner>[] }> {
  const idlers: ActorRef<IdleLearner>[] = []
  const spawn = (async (spawner: Spawner, learner: number) => {
    await mayStart(learner)
    return (idlers[learner] = await spawner.spawnHere(IdleLearner, undefined, { name: `learner ${learner}` }))
  }) as unknown as SpawnLearner
  const supervision = { restarts: 3, window: 60_000, deadline: 60_000 }
  const supervisor = await system.spawnHere(Supervisor, { engine, group: 1, learners, supervision, spawn }, { name: 'supervisor' })
  await supervisor.ask.start()
  return { supervisor, idlers }
}
