import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import type { Learner } from '../../src/actors/learner.js'
import { type LearnerOptions } from '../../src/actors/learner.js'
import { RestartCounter, type LearnerFailure } from '../../src/actors/learner-failure.js'
import type { SpawnLearner } from '../../src/actors/learner-slot.js'
import { Supervisor } from '../../src/actors/supervisor.js'
import { sma } from '../../src/rules/sma.js'
import { Synchroniser } from '../../src/actors/synchroniser.js'
import { compile } from '../../src/compiler/compile.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { usableCores } from '../../src/engine/machine.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { engine } from '../fakes/engine.js'
import { idleSupervisor } from '../fakes/idle-supervisor.js'
import { FAKES, tinyData, tinyModel } from '../fakes/job.js'
import { refused } from '../support/codes.js'
import { rejection } from '../support/rejection.js'

const LEARNER = new URL('../../src/actors/learner.js', import.meta.url)

/** Trains, and runs the code `later` some time after its fifth step. */
function plugin(later: string): string {
  const text = `export default ({ replica }) => {
    let steps = 0
    return async () => { steps += (await replica.run(1)).steps; if (steps === 5) setTimeout(() => { ${later} }, 100) }
  }`
  return `data:text/javascript,${encodeURIComponent(text)}`
}

describe('the supervisor', () => {
  let system: ActorSystem
  let workers: Worker[]
  const remember = (worker: Worker) => void workers.push(worker)
  beforeEach(() => {
    system = new ActorSystem()
    workers = []
    process.on('worker', remember)
  })
  afterEach(async () => {
    process.off('worker', remember)
    await system.stop()
  })

  async function twoLearners(
    module: string,
    { deadline = 60_000, leavesVacant = () => false }: { deadline?: number; leavesVacant?: () => boolean } = {}
  ) {
    const step = compile(tinyModel(), loweringBackend(engine, 'cpu'), { batch: 4, mode: 'train', precision: 'f32' })
    const { parameters, batch } = step
    const initial = new Float32Array(parameters.elements).fill(3)
    const group = { backend: 'cpu', layout: parameters, initial, batch, rule: sma({}, { learners: 1 }) } as const
    const synchroniser = await system.spawnLocal(Synchroniser, { engine, group })
    const handle = await synchroniser.ask.group()
    await synchroniser.ask.follow({ learningRates: [{ from: 0, rates: Float32Array.of(0.1) }], restarts: [], iterations: 1000 })
    const program = engine.createProgram(step)
    const dataset = engine.createDataset(tinyData().train)
    const spawn: SpawnLearner = (spawner, learner, rank, heartbeat) => {
      const options: LearnerOptions = {
        engine: FAKES.engine.href,
        module: learner === 1 ? module : FAKES.learner.href,
        options: undefined,
        replica: { backend: 'cpu', layout: parameters, threads: 1, seed: 1, group: handle, learner },
        program,
        dataset,
        task: { model: tinyModel(), step, recipe: { batch, precision: 'f32', parameters }, learners: 2, samples: 60, iterations: 1000 },
        rank,
        heartbeat: heartbeat.memory
      }
      return spawner.spawn<typeof Learner>(LEARNER, 'Learner', options, { name: `learner ${learner}` })
    }
    const failures: LearnerFailure[] = []
    const supervision = { restarts: 3, window: 60_000, deadline }
    const onFailure = (failure: LearnerFailure) => void failures.push(failure)
    const supervisor = await system.spawnLocal(Supervisor, {
      engine,
      group: handle,
      learners: 2,
      supervision,
      spawn,
      onFailure,
      leavesVacant
    })
    await supervisor.ask.start()
    return { synchroniser, supervisor, failures }
  }

  for (const [how, module, deadline, reason] of [
    ['is terminated', FAKES.learner.href, 60_000, /its thread ended with code 1/],
    ['exits', plugin('process.exit(5)'), 60_000, /its thread ended with code 5/],
    ['throws', plugin('throw new RangeError("told to throw")'), 60_000, /told to throw/],
    ['hangs', plugin('for (;;);'), 800, /no step within 800 ms/]
  ] as const) {
    it(`replaces a learner that ${how} while all are paused`, async () => {
      const { synchroniser, supervisor, failures } = await twoLearners(module, { deadline })
      await synchroniser.ask.pauseAt(5)
      await supervisor.ask.train()
      expect(failures).to.deep.equal([])
      if (how === 'is terminated') {
        const second = workers[1]!
        await Promise.all([once(second, 'exit'), second.terminate()])
      }
      await new Promise((resolve) => setTimeout(resolve, 300))
      await synchroniser.ask.pauseAt(12)
      const reports = await supervisor.askWith({ deadline: 20_000 }).train()
      expect(reports.map(({ outcome }) => outcome)).to.deep.equal(['paused', 'paused'])
      expect(failures).to.have.length(1)
      expect(failures[0]).to.include({ learner: 1, rank: 1, replacedBy: 2 })
      expect(failures[0]!.error.message).to.match(reason)
      expect(await synchroniser.ask.status()).to.deep.include({ round: 12, iterations: 12, members: [0, 2] })
    })
  }

  it('leaves a slot vacant if told so, fills it at a change of the population, and replaces the last learner in any case', async () => {
    const { synchroniser, supervisor, failures } = await twoLearners(plugin('throw new RangeError("told to throw")'), {
      leavesVacant: () => true
    })
    const trainedUntil = async (round: number) => {
      await synchroniser.ask.pauseAt(round)
      return (await supervisor.askWith({ deadline: 20_000 }).train()).map(({ outcome }) => outcome)
    }
    const terminated = (worker: Worker) => Promise.all([once(worker, 'exit'), worker.terminate()])
    expect(await trainedUntil(5)).to.deep.equal(['paused', 'paused'])
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await trainedUntil(12)).to.deep.equal(['paused'])
    expect(failures.splice(0)[0]).to.include({ learner: 1, rank: 1, replacedBy: null, vacant: true })
    expect(await synchroniser.ask.status()).to.deep.include({ round: 12, members: [0] })

    await terminated(workers[0]!)
    expect(await trainedUntil(15)).to.deep.equal(['paused'])
    expect(failures.splice(0)[0]).to.include({ learner: 0, rank: 0, replacedBy: 2, vacant: false })

    await supervisor.ask.resize(2)
    expect(await trainedUntil(18)).to.deep.equal(['paused', 'paused'])
    expect(await synchroniser.ask.status()).to.deep.include({ round: 18, members: [2, 3] })
    expect(failures).to.be.empty
  }).timeout(40_000)

  it('does not declare a learner dead that waits for another', async () => {
    const slow = `data:text/javascript,${encodeURIComponent(`export default ({ replica }) => async () => {
      await new Promise((resolve) => setTimeout(resolve, 300))
      await replica.run(1)
    }`)}`
    const { synchroniser, supervisor, failures } = await twoLearners(slow, { deadline: 1600 })
    await synchroniser.ask.pauseAt(6)
    await supervisor.askWith({ deadline: 20_000 }).train()
    expect(failures).to.deep.equal([])
  })
})

describe('the supervisor, while a learner starts', () => {
  it('answers, lists only learners that have started, and can be closed', async () => {
    await using system = new ActorSystem()
    let letStart = () => {}
    const start = new Promise<void>((resolve) => (letStart = resolve))
    const { supervisor } = await idleSupervisor(system, 2, (learner) => (learner === 2 ? start : undefined))
    const soon = supervisor.askWith({ deadline: 1000 })
    const prepared = supervisor.askWith({ deadline: Infinity }).prepare(3)
    expect(await soon.replicas()).to.have.length(2)
    const resized = supervisor.askWith({ deadline: Infinity }).resize(3)
    letStart()
    await Promise.all([prepared, resized])
    expect((await soon.replicas()).map((found) => found?.learner)).to.deep.equal([0, 1, 2])
    void supervisor
      .askWith({ deadline: Infinity })
      .prepare(4)
      .catch(() => {})
    await soon.close()
  })

  it('has no replica of a failed learner whose successor has not started', async () => {
    await using system = new ActorSystem()
    let giveUp = (_: Error) => {}
    const start = new Promise<void>((_, reject) => (giveUp = reject))
    const { supervisor, idlers } = await idleSupervisor(system, 2, (learner) => (learner === 2 ? start : undefined))
    const failed = new Promise((resolve) => system.events.on('exited', resolve))
    const trained = supervisor.askWith({ deadline: Infinity }).train()
    idlers[1]!.tell.die()
    await failed
    expect(await supervisor.askWith({ deadline: 1000 }).replicas()).to.deep.equal([{ learner: 0, replica: 7 }, undefined])
    await supervisor.ask.close()
    giveUp(new RangeError('no thread'))
    await idlers[0]!.stop()
    expect(await rejection(trained)).to.include({ message: 'no thread' })
  })
})

describe('the supervisor, with many learners', () => {
  it('starts some at a time, and no further ones once a start has failed', async () => {
    await using system = new ActorSystem()
    const most = 4 * usableCores()
    const [first, wanted] = [2 * most + 1, 5 * most]
    let [starting, atOnce, begun] = [0, 0, 0]
    const { supervisor } = await idleSupervisor(system, first, async (learner) => {
      begun++
      atOnce = Math.max(atOnce, ++starting)
      await new Promise((resolve) => setTimeout(resolve, 5))
      starting--
      if (learner === first + 1) throw new RangeError('no thread')
    })
    expect([begun, atOnce]).to.deep.equal([first, most])
    await refused('LEARNER_FAILED', () => supervisor.askWith({ deadline: Infinity }).prepare(wanted), 'no thread')
    expect(begun).to.be.below(wanted)
    await supervisor.askWith({ deadline: Infinity }).resize(first + 1)
    expect((await supervisor.ask.replicas()).map((found) => found?.replica)).to.deep.equal(Array(first + 1).fill(7))
  })

  it('starts no further ones once the run is stopped, and waits for none', async () => {
    await using system = new ActorSystem()
    const most = 4 * usableCores()
    const stop = new AbortController()
    let begun = 0
    const never = async () => {
      if (++begun === most) stop.abort()
      await new Promise(() => {})
    }
    await refused('ABORTED', () => idleSupervisor(system, 2 * most, never, undefined, stop.signal), 'stopped while they started')
    expect(begun).to.equal(most)
  })
})

describe('the supervisor, when the number of learners changes', () => {
  it('fills a vacant slot only once the memory of the leaving learners is free', async () => {
    await using system = new ActorSystem()
    const order: string[] = []
    const { supervisor, idlers } = await idleSupervisor(
      system,
      3,
      (learner) => void order.push(`learner ${learner} starts`),
      () => true
    )
    order.length = 0
    const exit = () => new Promise<void>((resolve) => void system.events.once('exited', () => resolve()))
    const first = exit()
    idlers[0]!.tell.die()
    await first
    system.events.once('exited', ({ actor }) => order.push(`${actor} is gone`))
    await supervisor.askWith({ deadline: Infinity }).resize(2)
    expect(order).to.deep.equal(['supervisor/learner 2 is gone', 'learner 3 starts'])
    expect((await supervisor.ask.replicas()).map((found) => found?.learner)).to.deep.equal([3, 1])
  })

  it('ends the learners that wait to join, where fewer are wanted', async () => {
    await using system = new ActorSystem()
    const { supervisor, idlers, members } = await idleSupervisor(system, 1)
    const prepare = (learners: number) => supervisor.askWith({ deadline: Infinity }).prepare(learners)
    await prepare(4)
    await prepare(2)
    for (const ended of idlers.slice(2)) expect(await ended.exited).to.deep.equal({ kind: 'stopped' })
    await prepare(1)
    expect(await idlers[1]!.exited).to.deep.equal({ kind: 'stopped' })
    await supervisor.askWith({ deadline: Infinity }).resize(2)
    expect(members()).to.deep.equal([0, 4])
  })

  it('lets a learner that replaces a prepared one join no sooner than that one would have', async () => {
    await using system = new ActorSystem()
    const { supervisor, idlers, members } = await idleSupervisor(system, 1)
    await supervisor.askWith({ deadline: Infinity }).prepare(2)
    const died = new Promise<void>((resolve) => void system.events.once('exited', () => resolve()))
    idlers[1]!.tell.die()
    await died
    while (idlers[2] === undefined) await new Promise((resolve) => setTimeout(resolve, 5))
    await supervisor.ask.replicas()
    expect(members()).to.deep.equal([0])
    await supervisor.askWith({ deadline: Infinity }).resize(2)
    expect(members()).to.deep.equal([0, 2])
  })
})

describe('restart intensity', () => {
  it('allows so many restarts within the window, and further ones after it', () => {
    const intensity = new RestartCounter({ restarts: 2, window: 100 })
    expect([0, 50, 99, 100, 120, 149, 150].map((now) => intensity.allows(now))).to.deep.equal([true, true, false, true, false, false, true])
    expect(new RestartCounter({ restarts: 0, window: 100 }).allows(0)).to.equal(false)
  })
})
