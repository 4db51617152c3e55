import type { SpawnLearner } from '../../src/actors/learner-slot.js'
import { Supervisor } from '../../src/actors/supervisor.js'
import type { Engine } from '../../src/engine/contract.js'
import { DeferredReply } from '../../src/runtime/actor.js'
import type { ActorRef } from '../../src/runtime/actor-ref.js'
import type { Spawner } from '../../src/runtime/context.js'
import type { ActorSystem } from '../../src/runtime/system.js'

/** Starts at once and trains for ever. */
class IdleLearner {
  replica(): number {
    return 7
  }

  train(): DeferredReply<never> {
    return new DeferredReply(new Promise(() => {}))
  }

  die(): void {
    throw new RangeError('told to die')
  }
}

/** An engine whose group never completes a round. */
function idleEngine(): Engine {
  const members = new Set<number>()
  const engine: Partial<Engine> = {
    stop: () => {},
    evict: (_, learner) => {
      members.delete(learner)
      return null
    },
    join: (_, learner) => members.add(learner).size,
    groupStatus: () => ({ round: 0, iterations: 0, position: 0, members: [...members], arrived: [], notFiniteAt: -1 })
  }
  return engine as Engine
}

/**
 * A supervisor that has started its learners, which do nothing. Each learner, further ones too, waits for `mayStart` before it is made. The others
 * go on without one that fails if it `leavesVacant`.
 */
export async function idleSupervisor(
  system: ActorSystem,
  learners: number,
  mayStart: (learner: number) => Promise<void> | void = () => {},
  leavesVacant: (error: Error) => boolean = () => false,
  stop?: AbortSignal
): Promise<{
  readonly supervisor: ActorRef<Supervisor>
  readonly idlers: readonly ActorRef<IdleLearner>[]
  readonly members: () => readonly number[]
}> {
  const idlers: ActorRef<IdleLearner>[] = []
  const spawn = (async (spawner: Spawner, learner: number) => {
    await mayStart(learner)
    return (idlers[learner] = await spawner.spawnLocal(IdleLearner, undefined, { name: `learner ${learner}` }))
  }) as unknown as SpawnLearner
  const supervision = { restarts: 3, window: 60_000, deadline: 60_000 }
  const engine = idleEngine()
  const members = () => engine.groupStatus(1).members
  const options = { engine, group: 1, learners, supervision, spawn, leavesVacant, ...(stop && { stop }) }
  const supervisor = await system.spawnLocal(Supervisor, options, { name: 'supervisor' })
  await supervisor.ask.start()
  return { supervisor, idlers, members }
}
