import { expect } from 'chai'
import { setImmediate as breath } from 'node:timers/promises'
import type { ActorContext } from '../../src/runtime/context.js'
import { TestKit } from '../../src/runtime/testkit/index.js'
import { refused } from '../support/codes.js'
import { Recorder } from './support/actors.js'
import { Resident } from './support/residents.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)

/** Greets the actor that it was given. */
class Greeter {
  readonly #friend: { readonly ask: { greet(name: string): Promise<string> } }
  readonly #context: ActorContext<Greeter>

  constructor(options: { friend: { readonly ask: { greet(name: string): Promise<string> } } }, context: ActorContext<Greeter>) {
    this.#friend = options.friend
    this.#context = context
  }

  go(): Promise<string> {
    return this.#friend.ask.greet(this.#context.name)
  }
}

interface Friend {
  greet(name: string): string
}

describe('The test kit', () => {
  it('runs actors, those of modules too, in this thread, and only when it is told to', async () => {
    const kit = new TestKit()
    const recorder = await kit.until(kit.system.spawn<typeof Recorder>(ACTORS, 'Recorder', {}))
    let answered = false
    const log = recorder.ask.log().then((lines) => {
      answered = true
      return lines
    })
    for (let i = 0; i < 10; i++) await breath()
    expect(answered).to.equal(false)
    expect(await kit.until(log)).to.deep.equal([])
  })

  it('orders turns by its seed', async () => {
    const orderOf = async (seed: number) => {
      const kit = new TestKit({ seed })
      const order: string[] = []
      class Member {
        note(text: string): void {
          order.push(text)
        }
      }
      const members = await Promise.all(Array.from({ length: 5 }, () => kit.until(kit.system.spawnLocal(Member, undefined))))
      for (const [i, member] of members.entries()) for (const j of [0, 1]) member.tell.note(`${i}.${j}`)
      await kit.settle()
      return order
    }
    expect(await orderOf(1)).to.deep.equal(await orderOf(1))
    const orders = await Promise.all([1, 2, 3, 4].map(orderOf))
    expect(new Set(orders.map(String)).size).to.be.greaterThan(1)
    for (const order of orders) for (const i of [0, 1, 2, 3, 4]) expect(order.indexOf(`${i}.0`)).to.be.lessThan(order.indexOf(`${i}.1`))
  })

  it('advances the time of timers and deadlines', async () => {
    const kit = new TestKit()
    const actor = await kit.until(kit.system.spawnLocal(Resident, {}))
    actor.tell.tickAfter(1_000)
    actor.tell.tickNever(10)
    await kit.advance(999)
    expect(await kit.until(actor.ask.ticks())).to.equal(0)
    await kit.advance(1)
    expect(await kit.until(actor.ask.ticks())).to.equal(1)
    actor.tell.tickEvery(100)
    await kit.advance(1_050)
    expect(await kit.until(actor.ask.ticks())).to.equal(11)
    await kit.run(actor.stop())
    await kit.advance(1_000)
    expect(kit.clock.next).to.equal(Infinity)
  })

  it('lets no timer messages pile up in a suspended mailbox', async () => {
    const kit = new TestKit()
    const actor = await kit.until(kit.system.spawnLocal(Resident, {}))
    actor.tell.tickEvery(10)
    await kit.settle()
    actor.suspend()
    await kit.advance(1_000)
    actor.resume()
    expect(await kit.until(actor.ask.ticks())).to.equal(1)
  })

  it('rejects an ask at its virtual deadline', async () => {
    const kit = new TestKit()
    const recorder = await kit.until(kit.system.spawnLocal(Recorder, {}))
    const began = performance.now()
    const asked = refused('DEADLINE_EXCEEDED', () => kit.run(recorder.ask.wait()), '10000 ms')
    await asked
    expect(kit.clock.now()).to.equal(10_000)
    expect(performance.now() - began).to.be.lessThan(5_000)
  })

  it('has probes that record messages and answer them', async () => {
    const kit = new TestKit()
    const { ref, received } = await kit.probe<Friend>({ greet: (name: string) => `hello, ${name}` })
    const greeter = await kit.until(kit.system.spawnLocal(Greeter, { friend: ref }, { name: 'greeter' }))
    expect(await kit.until(greeter.ask.go())).to.equal('hello, greeter')
    expect(received).to.deep.equal([{ method: 'greet', args: ['greeter'] }])
  })

  it('refuses a time that is no number, and what is no promise', async () => {
    const kit = new TestKit()
    for (const none of [undefined, NaN, '5']) await refused('INVALID_OPTION', () => kit.advance(none as never), 'milliseconds: received')
    for (const none of [undefined, 5, {}]) {
      await refused('INVALID_OPTION', () => kit.until(none as never), 'promise: received')
      await refused('INVALID_OPTION', () => kit.run(none as never), 'promise: received')
    }
    await kit.advance(5)
    expect(kit.clock.now()).to.equal(5)
  })

  it('refuses faults that would never come', async () => {
    const { faults } = new TestKit()
    for (const [rule, words] of [
      [null, 'rule: received null'],
      [{ fault: 'drop' }, 'nth: received nothing'],
      [{ nth: 0, fault: 'drop' }, 'nth: received 0'],
      [{ nth: 1, fault: 'kill' }, 'fault: received "kill"'],
      [{ nth: 1, fault: { delay: '50' } }, 'fault.delay: received "50"']
    ] as const)
      await refused('INVALID_OPTION', () => faults.add(rule as never), words)
  })

  describe('injects faults into messages:', () => {
    const prepared = async () => {
      const kit = new TestKit()
      const recorder = await kit.until(kit.system.spawnLocal(Recorder, {}, { name: 'r', restart: 'permanent' }))
      return { kit, recorder }
    }

    it('drops the nth', async () => {
      const { kit, recorder } = await prepared()
      kit.faults.add({ actor: 'r', method: 'note', nth: 2, fault: 'drop' }, { actor: 'other', nth: 1, fault: 'crash' })
      for (const text of ['a', 'b', 'c']) recorder.tell.note(text)
      expect(await kit.until(recorder.ask.log())).to.deep.equal(['a', 'c'])
      expect(kit.events.at(-1)).to.deep.include({ event: 'deadLetter', method: 'note', cause: 'dropped' })
    })

    it('delays it and those behind it', async () => {
      const { kit, recorder } = await prepared()
      kit.faults.add({ nth: 2, fault: { delay: 50 } })
      for (const text of ['a', 'b', 'c']) recorder.tell.note(text)
      const early = recorder.ask.log()
      await kit.advance(49)
      expect(kit.clock.next).to.equal(50)
      expect(await kit.run(early)).to.deep.equal(['a', 'b', 'c'])
      expect(kit.clock.now()).to.equal(50)
    })

    it('crashes its actor instead', async () => {
      const { kit, recorder } = await prepared()
      kit.faults.add({ method: 'note', nth: 2, fault: 'crash' })
      for (const text of ['a', 'b']) recorder.tell.note(text)
      await kit.advance(100)
      expect(await kit.run(recorder.ask.log())).to.deep.equal([])
      const restarting = kit.events.find(({ event }) => event === 'restarting')
      expect(restarting).to.have.nested.property('reason.error.message').that.contains('fault injector')
    })
  })
})
