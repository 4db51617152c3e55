import type { Engine } from '../../engine/contract.js'
import type { FinishedEvent } from '../../observe/events.js'
import { checkGrowth } from '../memory/budget.js'
import type { MemoryNeed } from '../memory/need.js'
import type { PreparedRun } from '../prepare/prepare.js'
import type { RunActors } from '../start/run-actors.js'
import type { Follower } from './follower.js'

/** Obeys the first host to the end. Afterwards the first evaluator's replica holds the model. */
export async function obeyLeader(
  follower: Follower,
  { programs, settings }: PreparedRun,
  actors: RunActors,
  engine: Engine,
  need: MemoryNeed
): Promise<FinishedEvent> {
  const { learners } = actors
  const prepare = async (wanted: number) => {
    const { learners: there } = await learners.population()
    checkGrowth(engine, settings, need, { there, wanted })
    await learners.prepare(wanted)
  }
  const following = { ...actors, learners: { ...learners, prepare } }
  const finished = await follower.obey(following, engine, programs.train.parameters.parameters)
  await actors.evaluators.takeCentral()
  return finished
}
