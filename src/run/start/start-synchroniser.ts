import type { JobScope } from '../../actors/job-scope.js'
import { actorClass, type NeededAnswer } from '../../actors/own-actor.js'
import { Synchroniser } from '../../actors/synchroniser.js'
import type { GroupRule, Handle, LevelSpec, MovedVectorsUse } from '../../engine/contract.js'
import { giveBack } from '../../engine/give-back.js'
import type { ActorRef } from '../../runtime/actor-ref.js'
import { firstWeights } from './first-weights.js'
import { groupSpec } from './group-spec.js'
import { hostsLevel } from '../hosts/hosts-level.js'
import { leaderOf } from '../hosts/meeting.js'
import type { PreparedRun } from '../prepare/prepare.js'
import type { RunHooks } from './run-hooks.js'
import { presentRule } from '../run-settings.js'

/** By its tag, for an array may be of another realm. */
const isArray = (answer: unknown, ...names: readonly string[]): boolean =>
  ArrayBuffer.isView(answer) && names.includes((answer as unknown as Float32Array)[Symbol.toStringTag])

/** What the run reads of the answers of its synchroniser. */
const ANSWERS = {
  group: { what: 'the handle of the group', holds: (answer) => typeof answer === 'number' },
  status: {
    what: 'round, iterations, position and members',
    holds: (answer) => {
      const { round, iterations, position, members } = Object(answer) as Partial<Record<string, unknown>>
      return [round, iterations, position].every((each) => typeof each === 'number') && Array.isArray(members)
    }
  },
  losses: { what: 'a Float32Array', holds: (answer) => isArray(answer, 'Float32Array') },
  isFinite: { what: 'true or false', holds: (answer) => typeof answer === 'boolean' },
  centralVector: { what: 'a Float32Array or a Float64Array', holds: (answer) => isArray(answer, 'Float32Array', 'Float64Array') }
} as const satisfies Partial<Record<keyof Synchroniser, NeededAnswer>>

/** Starts the synchroniser, which makes the group of learners with the first central model. The hubs of the run make theirs. */
export async function startSynchroniser(
  run: PreparedRun,
  scope: JobScope,
  { control, shared }: RunHooks,
  moved: MovedVectorsUse | undefined
): Promise<ActorRef<Synchroniser>> {
  const { model, dataset, programs, settings, resumption, hosts, schedule } = run
  const { engine, system } = scope
  const rule = presentRule(settings)
  const level = outerLevel(run, scope, rule, shared?.link)
  const spec = { ...groupSpec(programs.train, settings, dataset.train.count, level), rule, ...(moved && { moved }) }
  const group = { ...spec, initial: await firstWeights(model, settings) }
  const resumes = resumption && { resumes: resumption.group }
  const { ruleAt = 'all', order: sumOrder = 'ranks' } = settings.devices
  const { learningRates, restarts, iterations } = schedule
  leaderOf(hosts)?.serve(group, { ruleAt, sumOrder, schedule: { learningRates, restarts, iterations }, ...resumes })
  const options = { engine, group, control, ...resumes }
  const own = await actorClass(Synchroniser, 'synchroniserActor', settings.synchroniserActor, ANSWERS)
  const synchroniser = await system.spawnLocal(own, options, { name: 'synchroniser' })
  // The engine has its own copy. An actor of the user's and the messages to other hosts may still hold these weights.
  if (own === Synchroniser && !leaderOf(hosts)) giveBack(group.initial)
  return synchroniser
}

/** The level over the hosts, or the rated link that stands for other hosts; undefined where there is neither. */
function outerLevel(
  { programs, settings, hosts, exchange }: PreparedRun,
  { engine, handles }: JobScope,
  rule: GroupRule,
  sharedLink: Handle | undefined
): LevelSpec | undefined {
  const { link: bytesPerSecond, ruleAt, order, racks } = settings.devices
  const ownLink = () => (bytesPerSecond === undefined ? undefined : handles.own(engine.createRatedLink({ bytesPerSecond, latency: 0 })))
  const link = sharedLink ?? ownLink()
  if (!hosts || rule.kind !== 'synchronous') return link && { kind: 'loopback', link }
  return hostsLevel(engine, hosts.host.handle, hosts.host.capacities, {
    layout: programs.train.parameters,
    rule,
    ...(ruleAt && { ruleAt }),
    ...(order && { order }),
    ...(exchange && { exchange: exchange.exchange }),
    ...(racks && { racks })
  })
}
