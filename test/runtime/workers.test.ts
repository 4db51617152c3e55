import { expect } from 'chai'
import { threadId } from 'node:worker_threads'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SpawnOptions } from '../../src/runtime/context.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { transfer } from '../../src/runtime/cloneable.js'
import { refused } from '../support/codes.js'
import { rejection } from '../support/rejection.js'
import { warningsIn } from '../support/warnings.js'
import { heap } from './support/heap.js'
import type { Resident } from './support/residents.js'

const MODULE = new URL('./support/residents.js', import.meta.url)

describe('Workers', () => {
  let system: ActorSystem
  beforeEach(() => (system = new ActorSystem()))
  afterEach(() => system.stop({ deadline: 200 }))

  const spawn = (how: SpawnOptions = {}) => system.spawn<typeof Resident>(MODULE, 'Resident', {}, how)

  describe('that several actors share', () => {
    it('are one thread, and a new one once the last actor has ended', async () => {
      const [a, b] = [await spawn({ worker: 'w' }), await spawn({ worker: 'w' })]
      const thread = await a.ask.thread()
      expect(thread).to.not.equal(threadId)
      expect(await b.ask.thread()).to.equal(thread)
      expect(await (await spawn()).ask.thread()).to.not.equal(thread)
      await a.stop()
      expect(await b.ask.ping()).to.equal(true)
      await b.stop()
      expect(await (await spawn({ worker: 'w' })).ask.thread()).to.be.greaterThan(thread)
    })

    it('outlive an actor that fails in a message, and end with one that fails outside', async () => {
      const [a, b] = [await spawn({ worker: 'w', restart: 'permanent' }), await spawn({ worker: 'w' })]
      const thread = await a.ask.thread()
      a.tell.fail()
      expect(await rejection(a.ask.ping())).to.have.property('code', 'ACTOR_GONE')
      expect(await a.ask.thread()).to.equal(thread)
      a.tell.failOutside()
      expect(await b.exited).to.have.nested.property('error.message', 'failed outside')
      await sleep(50)
      expect(await a.ask.thread()).to.not.equal(thread)
    })

    it('count as dead by the heartbeat of the first one, for which all of them are told', async () => {
      const first = await spawn({ worker: 'w', shutdown: 50, heartbeat: { timeout: 400 } })
      const others = [
        await spawn({ worker: 'w', shutdown: 50 }),
        await spawn({ worker: 'w', shutdown: 50, heartbeat: { timeout: 60_000 } })
      ]
      first.tell.spin()
      for (const { exited } of [first, ...others])
        expect(await exited)
          .to.have.nested.property('error.message')
          .that.contains('400 ms')
    })

    it('keep nothing of the actors that have ended', async () => {
      const stays = await spawn({ worker: 'w' })
      const comeAndGo = async (count: number) => {
        for (let i = 0; i < count; i++) {
          const options = { many: Array.from({ length: 20_000 }, (_, k) => k + i) }
          const actor = await system.spawn<typeof Resident>(MODULE, 'Resident', options, { worker: 'w' })
          await actor.stop()
        }
      }
      await comeAndGo(10)
      const before = heap()
      await comeAndGo(100)
      // Of which each takes more than 100 kB.
      expect(heap() - before).to.be.below(5_000_000)
      expect(await stays.ask.ping()).to.equal(true)
    })

    it('accept actors that are spawned at the same time', async () => {
      const actors = await Promise.all(Array.from({ length: 8 }, () => spawn({ worker: 'w' })))
      const threads = await Promise.all(actors.map((actor) => actor.ask.thread()))
      expect(new Set(threads)).to.have.property('size', 1)
    })
  })

  it('show a busy actor that it is to stop', async () => {
    const actor = await spawn()
    const answer = actor.ask.workUntilStopped()
    await sleep(30)
    expect(await actor.stop()).to.deep.equal({ kind: 'stopped' })
    expect(await answer).to.equal('saw the flag')
  })

  it('are cancelled by their owner when they cannot receive the message to stop', async () => {
    const word = new SharedArrayBuffer(4)
    const cancel = () => {
      Atomics.store(new Int32Array(word), 0, 1)
      Atomics.notify(new Int32Array(word), 0)
    }
    const actor = await spawn({ cancel })
    const answer = actor.ask.block(word)
    await sleep(30)
    expect(await actor.stop()).to.deep.equal({ kind: 'stopped' })
    expect(await answer).to.equal('broken off')
  })

  it('end by their deadline, with a warning, if the owner’s `cancel` throws', async () => {
    const cancel = () => {
      throw new Error('told to throw')
    }
    const warnings = await warningsIn(async () => {
      const [idle, busy] = [await spawn({ cancel }), await spawn({ cancel })]
      busy.tell.spin()
      expect(await idle.stop()).to.deep.equal({ kind: 'stopped' })
      expect((await busy.stop({ deadline: 50 })).kind).to.equal('exited')
    })
    expect(warnings).to.have.length(2)
    for (const warning of warnings) expect(warning).to.contain('Resident').and.contain('told to throw')
  })

  it('are refused a heartbeat timeout of 0', async () => {
    for (const timeout of [NaN, 0, -1])
      await refused('INVALID_OPTION', () => spawn({ heartbeat: { timeout } }), 'heartbeat.timeout', `${timeout}`)
  })

  it('count as dead when their heartbeat stops, and are replaced', async () => {
    const actor = await spawn({ restart: 'permanent', shutdown: 50, heartbeat: { timeout: 400 } })
    const reasons: unknown[] = []
    system.events.on('restarting', ({ reason }) => reasons.push(reason))
    const thread = await actor.ask.thread()
    await sleep(1_200)
    expect(await actor.ask.thread(), 'idle').to.equal(thread)
    actor.tell.spin()
    expect(await rejection(actor.ask.ping())).to.have.property('code', 'ACTOR_GONE')
    expect(await actor.ask.thread()).to.not.equal(thread)
    expect(reasons).to.have.nested.property('[0].error.code', 'DEADLINE_EXCEEDED')
    expect(reasons).to.have.nested.property('[0].error.message').that.contains('400 ms')
  })

  it('receive transferred objects and share shared memory', async () => {
    const actor = await spawn()
    const buffer = new ArrayBuffer(8)
    expect(await actor.ask.take(transfer(buffer, [buffer]))).to.equal(8)
    expect(buffer.byteLength).to.equal(0)
  })

  it('receive arguments, and send answers, as they were at the time, whatever changes them in the same turn', async () => {
    const actor = await spawn()
    const numbers = new Float32Array(1)
    const kept = [1, 2, 3].map((number) => {
      numbers[0] = number
      actor.tell.keep(numbers)
      return actor.ask.kept()
    })
    expect(await Promise.all(kept)).to.deep.equal([[1], [1, 2], [1, 2, 3]])
  })

  it('receive the arguments of a message that waits at its sender as they were when it was sent', async () => {
    const actor = await spawn({ mailbox: { capacity: 1 } })
    actor.suspend()
    const [numbers, moved] = [new Float32Array(1), Float32Array.of(4)]
    for (const number of [1, 2, 3]) {
      numbers[0] = number
      actor.tell.keep(numbers)
    }
    actor.tell.keep(transfer(moved, [moved.buffer]))
    expect(moved).to.have.length(0)
    actor.resume()
    expect(await actor.ask.kept()).to.deep.equal([1, 2, 3, 4])
  })

  it('refuse any number of messages that cannot be cloned, also those that waited at their sender', async () => {
    const actor = await spawn({ mailbox: { capacity: 1 } })
    actor.suspend()
    actor.tell.tick()
    const asks = Array.from({ length: 20_000 }, () => rejection(actor.ask.keep([(() => {}) as never])))
    actor.resume()
    for (const error of await Promise.all(asks)) expect(error).to.have.property('name', 'DataCloneError')
    expect(await actor.ask.kept()).to.deep.equal([])
  })

  it('refuse options that cannot be cloned', async () => {
    const spawning = system.spawn<typeof Resident>(MODULE, 'Resident', { call: () => {} })
    expect(await rejection(spawning)).to.have.property('name', 'DataCloneError')
  })
})
