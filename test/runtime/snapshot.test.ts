import { expect } from 'chai'
import { ActorSystem } from '../../src/runtime/system.js'
import { Recorder } from './support/actors.js'
import type { Foreman } from './support/foreman.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)
const FOREMAN = new URL('./support/foreman.js', import.meta.url)

describe('a snapshot of a system', () => {
  let system: ActorSystem
  beforeEach(() => (system = new ActorSystem()))
  afterEach(() => system.stop())

  const look = (name: string) => system.snapshot().find((actor) => actor.name === name)

  for (const place of ['in a worker', 'in the caller’s thread'] as const) {
    const spawn = () =>
      place === 'in a worker'
        ? system.spawn<typeof Recorder>(ACTORS, 'Recorder', {}, { name: 'recorder' })
        : system.spawnLocal(Recorder, {}, { name: 'recorder' })

    it(`counts an actor’s messages, waits and turns, ${place}`, async () => {
      const recorder = await spawn()
      const before = look('recorder')!
      expect(before).to.include({ messages: 0, depth: 0, busy: false, deferred: 0, restarts: 0 })
      expect(before.thread > 0).to.equal(place === 'in a worker')
      expect(before.heap).to.be.within(1e6, 1e9)
      await Promise.all([recorder.ask.slowly('a', 30), recorder.ask.slowly('b', 30)])
      const { messages, timed, handleTime, waitTime } = look('recorder')!
      expect([messages, timed]).to.deep.equal([2, 2])
      expect(handleTime).to.be.within(55, 5_000)
      expect(waitTime).to.be.within(25, 5_000)
    })

    it(`shows waiting messages, the current one and deferred replies, ${place}`, async () => {
      const recorder = await spawn()
      const deferred = recorder.ask.wait()
      await recorder.ask.log()
      expect(look('recorder')).to.include({ deferred: 1, busy: false })
      recorder.tell.open('now')
      await deferred
      const inHand = recorder.ask.slowly('a', 100)
      for (let i = 0; i < 3; i++) recorder.tell.note('waits')
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(look('recorder')).to.include({ deferred: 0, busy: true, depth: 3 })
      await inHand
      await recorder.ask.log()
      expect(look('recorder')).to.include({ busy: false, depth: 0 })
    })
  }

  it('tells apart actors that were given one name, and keeps the one when the other ends', async () => {
    const spawn = () => system.spawnLocal(Recorder, {}, { name: 'twin' })
    const [first, second] = [await spawn(), await spawn()]
    expect([first.name, second.name]).to.deep.equal(['twin', 'twin-2'])
    await second.ask.log()
    expect(system.snapshot().map(({ name, messages }) => [name, messages])).to.deep.equal([
      ['twin', 0],
      ['twin-2', 1]
    ])
    await second.stop()
    expect(system.snapshot().map(({ name }) => name)).to.deep.equal(['twin'])
    expect((await spawn()).name).to.equal('twin-2')
  })

  it('knows the children of actors in other threads, and forgets them with their parent', async () => {
    const foreman = await system.spawn<typeof Foreman>(FOREMAN, 'Foreman', {}, { name: 'foreman', restart: 'transient' })
    await foreman.ask.hire()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(system.snapshot().map(({ name }) => name)).to.deep.equal(['foreman', 'foreman/hand'])
    expect(look('foreman/hand')).to.include({ messages: 1, thread: look('foreman')!.thread })
    const again = new Promise((resolve) => system.events.on('started', resolve))
    foreman.tell.fail()
    await again
    expect(system.snapshot().map(({ name }) => name)).to.deep.equal(['foreman'])
    expect(look('foreman')).to.include({ restarts: 1 })
    await foreman.stop()
    expect(system.snapshot()).to.deep.equal([])
  })
})
