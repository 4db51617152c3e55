import { expect } from 'chai'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ActorRef } from '../../src/runtime/actor-ref.js'
import type { SupervisionPolicy } from '../../src/runtime/supervision-policy.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { countOf } from '../support/count.js'
import { Faulty } from './support/actors.js'
import { heap } from './support/heap.js'
import type { Sleeper } from './support/sleeper.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)
const SLEEPER = new URL('./support/sleeper.js', import.meta.url)
const CRASHES = countOf('ARBALEST_SOAK_CRASHES', 10_000)
const ACTORS_HERE = 20
const ACTORS_IN_WORKERS = 4

/** Allows every failure, without a delay. */
const TIRELESS: SupervisionPolicy = { intensity: { restarts: Infinity, within: 1 }, backoff: { first: 0, jitter: 0 } }

describe('Crashing and restarting, again and again', function () {
  this.timeout(1_800_000)

  it(`leaves nothing behind in this thread, ${CRASHES} times`, async () => {
    await soak(Math.ceil(CRASHES / ACTORS_HERE), (system) =>
      Promise.all(Array.from({ length: ACTORS_HERE }, () => system.spawnLocal(Faulty, {}, { restart: 'permanent' })))
    )
  })

  it(`leaves nothing behind in workers, ${CRASHES} times`, async () => {
    const shared = (i: number) => (i === 0 ? {} : { worker: `shared ${i % 2}` })
    await soak(Math.ceil(CRASHES / ACTORS_IN_WORKERS), (system) =>
      Promise.all(
        Array.from({ length: ACTORS_IN_WORKERS }, (_, i) =>
          system.spawn<typeof Faulty>(ACTORS, 'Faulty', {}, { restart: 'permanent', ...shared(i) })
        )
      )
    )
  })

  it('reports that a thread in native code cannot be terminated', async () => {
    const system = new ActorSystem()
    const sleeper = await system.spawn<typeof Sleeper>(SLEEPER, 'Sleeper', undefined, { name: 'sleeper' })
    const unhealthy = new Promise<string>((resolve) =>
      system.events.on('unhealthy', ({ actor, error }) => resolve(`${actor} ${error.message}`))
    )
    sleeper.tell.sleepInNativeCode(8)
    await sleep(500)
    const reason = await sleeper.stop({ deadline: 50 })
    expect(reason).to.have.nested.property('error.code', 'DEADLINE_EXCEEDED')
    expect(await unhealthy)
      .to.contain('sleeper')
      .and.contain('native code')
  })
})

/** Every actor crashes `times` times; a tenth of that warms up. After it, memory and the process's resources must not grow. */
async function soak(times: number, spawn: (system: ActorSystem) => Promise<ActorRef<Faulty>[]>): Promise<void> {
  const before = holdings()
  const system = new ActorSystem({ supervision: TIRELESS })
  const actors = await spawn(system)
  const warmUp = Math.ceil(times / 10)
  await crash(actors, warmUp)
  // The actors' own threads as well: those in shared workers outlive every crash.
  const heaps = async () => [heap(), ...(await Promise.all(actors.map((actor) => actor.ask.heap())))]
  const warm = await heaps()
  await crash(actors, times - warmUp)
  for (const [i, bytes] of (await heaps()).entries()) expect(bytes - warm[i]!, `bytes that heap ${i} has grown`).to.be.lessThan(1e6)
  for (const actor of actors) expect(await actor.ask.alive()).to.equal(true)
  await system.stop()
  await sleep(500)
  expect(holdings()).to.deep.equal(before)
}

async function crash(actors: readonly ActorRef<Faulty>[], times: number): Promise<void> {
  await Promise.all(
    actors.map(async (actor) => {
      for (let i = 0; i < times; i++) {
        actor.tell.fail()
        await actor.ask.alive().then(
          () => expect.fail('it answered after it had failed'),
          (error: unknown) => expect(error).to.have.property('code', 'ACTOR_GONE')
        )
      }
    })
  )
}

/** Threads, ports and timers of this process. The heap's own threads come and go before the first count. */
function holdings(): Record<string, number> {
  const counts: Record<string, number> = { threads: readdirSync('/proc/self/task').length }
  for (const resource of process.getActiveResourcesInfo()) {
    if (resource === 'Timeout' || resource === 'Immediate') continue
    counts[resource] = (counts[resource] ?? 0) + 1
  }
  return counts
}
