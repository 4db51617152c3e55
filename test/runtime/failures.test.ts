import { setTimeout as sleep } from 'node:timers/promises'
import { types } from 'node:util'
import { expect } from 'chai'
import { messageOf } from '../../src/errors.js'
import type { ActorRef } from '../../src/runtime/actor-ref.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { refused } from '../support/codes.js'
import { warningsIn } from '../support/warnings.js'
import { rejection } from '../support/rejection.js'
import { Faulty, type FaultyOptions } from './support/actors.js'
import { heap } from './support/heap.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)

async function terminateInLoop(faulty: ActorRef<Faulty>): Promise<void> {
  faulty.tell.spin()
  await sleep(50)
  await faulty.stop({ deadline: 20 })
}

describe('actors that fail', () => {
  let system: ActorSystem
  beforeEach(() => (system = new ActorSystem()))
  afterEach(() => system.stop({ deadline: 200 }))

  const inWorker = (options: FaultyOptions = {}) => system.spawn<typeof Faulty>(ACTORS, 'Faulty', options)
  const here = (options: FaultyOptions = {}) => system.spawnLocal(Faulty, options)

  for (const [place, spawn] of [
    ['in a worker', inWorker],
    ['in the caller’s thread', here]
  ] as const) {
    it(`reject the ask with the error of its method, and continue, ${place}`, async () => {
      const faulty = await spawn()
      const error = await refused('DATA_CORRUPT', () => faulty.ask.fail(), 'idx: broken')
      expect(error.data).to.deep.equal({ at: 7 })
      expect(error.stack).to.contain('support/actors')
      expect(error.cause).to.be.instanceOf(RangeError).with.property('message', 'too far')
      expect(await rejection(faulty.ask.failLater()))
        .to.be.instanceOf(TypeError)
        .with.property('code', 'ERR_LATE')
      expect(await rejection(faulty.ask.throwNothing())).to.deep.equal({ not: 'an error' })
      expect(await faulty.ask.alive()).to.equal(true)
    })

    it(`answer and continue where what a method throws or returns cannot be looked at, ${place}`, async () => {
      const faulty = await spawn()
      const { throwHostile, rejectHostile, answerHostile } = faulty.askWith({ deadline: 2_000 })
      for (const ask of [throwHostile, rejectHostile, answerHostile]) {
        const settled = await ask().then(
          () => 'answered',
          (error: unknown) => (types.isProxy(error) ? 'rejected' : messageOf(error))
        )
        expect(settled).to.not.contain('no answer')
      }
      expect(await faulty.ask.alive()).to.equal(true)
      faulty.tell.throwHostile()
      expect(await faulty.exited)
        .to.have.nested.property('error.message')
        .that.contains('thrown: ')
    })

    it(`end if a told method throws: after their hook, with the reason, their open asks rejected, ${place}`, async () => {
      const stops = new SharedArrayBuffer(4)
      const faulty = await spawn({ stops })
      const open = rejection(faulty.askWith({ deadline: Infinity }).later())
      faulty.tell.fail()
      const reason = await faulty.exited
      expect(reason).to.have.nested.property('error.code', 'DATA_CORRUPT')
      expect(new Int32Array(stops)[0]).to.equal(1)
      expect(await open).to.include({ code: 'ACTOR_GONE', cause: (reason as { error: Error }).error })
    })

    it(`make their spawn reject if they do not start, ${place}`, async () => {
      const error = await refused('INVALID_STATE', () => spawn({ failToStart: true }))
      expect(error.data).to.deep.equal({ reason: 'test' })
    })

    it(`are left behind if they do not stop in time, ${place}`, async () => {
      const faulty = await spawn()
      const open = rejection(faulty.askWith({ deadline: Infinity }).never())
      await sleep(50)
      expect((await faulty.stop({ deadline: 20 })).kind).to.equal(place === 'in a worker' ? 'exited' : 'failed')
      expect(await open).to.have.property('code', 'ACTOR_GONE')
    })
  }

  const deaths: readonly [how: string, die: (faulty: ActorRef<Faulty>) => unknown, kind: string][] = [
    ['throws in a timer', (faulty) => faulty.tell.throwFromTimer(), 'failed'],
    ['rejects with nobody listening', (faulty) => faulty.tell.rejectUnheard(), 'failed'],
    ['calls process.exit', (faulty) => faulty.tell.exit(3), 'exited'],
    ['is terminated in an endless loop', terminateInLoop, 'exited']
  ]
  for (const [how, die, kind] of deaths) {
    it(`reject every ask when their worker ${how}`, async () => {
      const faulty = await inWorker()
      const open = rejection(faulty.askWith({ deadline: Infinity }).later())
      await faulty.ask.alive()
      void die(faulty)
      const reason = await faulty.exited
      expect(reason.kind).to.equal(kind)
      expect(await open).to.have.property('code', 'ACTOR_GONE')
      if (reason.kind === 'failed') expect(await open).to.have.property('cause', reason.error)
      await refused('ACTOR_GONE', () => faulty.ask.alive())
    })
  }

  it('keep code and data of an error thrown outside any message', async () => {
    const faulty = await inWorker()
    faulty.tell.throwFromTimer()
    const reason = await faulty.exited
    expect(reason).to.have.nested.property('error.code', 'LOSS_NOT_FINITE')
    expect(reason).to.have.nested.property('error.data').that.deep.equals({ iteration: 3 })
  })

  for (const [restart, fix] of [
    ['temporary', 'spawn the actor again'],
    ['permanent', 'it is restarted, ask it again']
  ] as const)
    it(`say to an ask that was open whether it helps to repeat it: ${restart}`, async () => {
      for (const spawned of [
        await system.spawn<typeof Faulty>(ACTORS, 'Faulty', {}, { restart }),
        await system.spawnLocal(Faulty, {}, { restart })
      ]) {
        const open = rejection(spawned.ask.later())
        spawned.tell.fail()
        expect(await open)
          .to.have.property('message')
          .that.contains(fix)
      }
    })

  it('are sent nothing by what awaits a ref or writes it as JSON', async () => {
    const faulty = await inWorker()
    expect(JSON.parse(JSON.stringify({ faulty }))).to.deep.equal({ faulty: { name: faulty.name, ask: {}, tell: {}, exited: {} } })
    await (faulty.ask as unknown as Promise<void>)
    await (faulty.tell as unknown as Promise<void>)
    expect(await faulty.ask.alive()).to.equal(true)
  })

  it('keep the code of process.exit', async () => {
    const faulty = await inWorker()
    faulty.tell.exit(3)
    expect(await faulty.exited).to.deep.equal({ kind: 'exited', code: 3 })
  })

  it('name the classes of a module, and report a module that does not exist', async () => {
    await refused('UNKNOWN_NAME', () => system.spawn(ACTORS, 'Nobody', undefined as never), 'Nobody', 'Faulty', 'Recorder')
    expect(await rejection(system.spawn(new URL('./nowhere.js', import.meta.url), 'Nobody', undefined as never))).to.have.property(
      'code',
      'ERR_MODULE_NOT_FOUND'
    )
  })

  it('are refused an ask whose deadline is not a time', async () => {
    const faulty = await here()
    await refused('INVALID_OPTION', () => faulty.askWith({ deadline: NaN }).alive(), 'deadline: received NaN')
    expect(await faulty.askWith({ deadline: 1_000 }).alive()).to.equal(true)
  })

  it('are refused an ask whose signal is none', async () => {
    const faulty = await here()
    for (const none of [0, '', null, new AbortController()])
      await refused('INVALID_OPTION', () => faulty.askWith({ signal: none as never }).alive(), 'signal: received', 'AbortController')
    expect(await faulty.askWith({ signal: AbortSignal.timeout(60_000) }).alive()).to.equal(true)
    expect(await faulty.askWith({ signal: undefined }).alive()).to.equal(true)
  })

  it('are not kept by the deadlines of the asks that they have answered', async () => {
    const comeAndGo = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const faulty = await here()
        await faulty.askWith({ deadline: 3_600_000 }).alive()
        await faulty.stop()
      }
    }
    await comeAndGo(500)
    const before = heap()
    await comeAndGo(3_000)
    // Of which each takes about 1 kB.
    expect(heap() - before).to.be.below(1_000_000)
  })

  it('are asked any number of questions with one signal, without a warning', async () => {
    const faulty = await here()
    const { signal } = new AbortController()
    const ask = async () => void (await Promise.all(Array.from({ length: 20 }, () => faulty.askWith({ signal }).alive())))
    expect(await warningsIn(ask)).to.deep.equal([])
  })

  it('abort a start that takes too long, and end its thread', async () => {
    const spawned = system.spawn<typeof Faulty>(ACTORS, 'Faulty', { startTakes: 10_000 }, { deadline: 300 })
    await refused('DEADLINE_EXCEEDED', () => spawned, '300 ms')
  })

  it('say how their start has ended where it neither succeeds nor fails', async () => {
    await refused('ACTOR_GONE', () => inWorker({ exitsWith: 3 }), 'ended with code 3 before it had started')
    const error = await refused('ACTOR_GONE', () => inWorker({ startNeverEnds: true }), 'its start awaits what never settles')
    expect(error.message).to.match(/^Faulty-2: /)
  })

  it('reject a message that cannot be cloned, without harm to those sent beside it', async () => {
    const faulty = await inWorker()
    const before = faulty.ask.alive()
    const refusedArgument = rejection((faulty.ask.alive as (argument: unknown) => Promise<boolean>)(() => {}))
    expect(await before).to.equal(true)
    expect(await refusedArgument).to.have.property('name', 'DataCloneError')
    expect(await rejection(faulty.ask.unpostable())).to.have.property('name', 'DataCloneError')
    expect(await faulty.ask.alive()).to.equal(true)
  })
})
