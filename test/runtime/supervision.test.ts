import { expect } from 'chai'
import type { ActorRef } from '../../src/runtime/actor-ref.js'
import type { RuntimeEvent } from '../../src/runtime/events.js'
import type { RestartStrategy } from '../../src/runtime/supervision-policy.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { TestKit } from '../../src/runtime/testkit/index.js'
import { refused } from '../support/codes.js'
import { heap } from './support/heap.js'
import { Guardian, Member, Parent, Slow, SlowParent, type Diary, type SlowToStop } from './support/supervised.js'

const MODULE = new URL('./support/supervised.js', import.meta.url)

/** A parent with the children 0, 1, 2 in virtual time; `diary` is emptied once they stand. */
async function familyOf(strategy: RestartStrategy, intensity = { restarts: 3, within: 1_000 }) {
  const kit = new TestKit()
  const diary: Diary = []
  const parent = await kit.until(kit.system.spawnLocal(Parent, { diary, children: 3, supervision: { strategy, intensity } }, { name: 'p' }))
  const children = (await kit.until(parent.ask.children())) as ActorRef<Member>[]
  expect(diary.splice(0)).to.deep.equal(['p/0 starts', 'p/1 starts', 'p/2 starts'])
  return { kit, diary, parent, children }
}

describe('Supervision', () => {
  const restarts: readonly [RestartStrategy, readonly string[]][] = [
    ['oneForOne', ['p/1 stops', 'p/1 starts', 'p/1 restarts: told to fail']],
    ['restForOne', ['p/1 stops', 'p/2 stops', 'p/1 starts', 'p/1 restarts: told to fail', 'p/2 starts', 'p/2 restarts: told to fail']],
    [
      'allForOne',
      [
        'p/1 stops',
        'p/2 stops',
        'p/0 stops',
        ...['p/0', 'p/1', 'p/2'].flatMap((name) => [`${name} starts`, `${name} restarts: told to fail`])
      ]
    ]
  ]
  for (const [strategy, expected] of restarts) {
    it(`restarts ${strategy}, in the order of the start, and refs stay valid`, async () => {
      const { kit, diary, children } = await familyOf(strategy)
      children[1]!.tell.fail()
      await kit.advance(100)
      expect(diary).to.deep.equal(expected)
      for (const child of children) expect(await kit.run(child.ask.alive())).to.equal(true)
    })
  }

  it('keeps nothing of actors that have ended while the one that they watched lives', async () => {
    await using system = new ActorSystem()
    const watches = await system.spawnLocal(Member, { diary: [] })
    const before = heap()
    for (let i = 0; i < 50; i++) await (await system.spawnLocal(Member, { diary: Array<string>(200_000).fill('kept'), watches })).stop()
    expect(heap() - before).to.be.below(20_000_000)
  })

  for (const strategy of ['allForOne', 'restForOne'] as const)
    it(`restarts, ${strategy}, the children behind one that is stopped before it has started again`, async () => {
      const kit = new TestKit({ supervision: { strategy } })
      const diary: Diary = []
      const spawn = (name: string) => kit.until(kit.system.spawnLocal(Member, { diary }, { name, restart: 'permanent' }))
      const first = await spawn('first')
      const slow = kit.system.spawnLocal(Slow, { diary, clock: kit.clock, startTakes: 300 }, { name: 'slow', restart: 'permanent' })
      const second = await kit.run(slow)
      const third = await spawn('third')
      first.tell.fail()
      await kit.advance(100)
      expect(diary.at(-1)).to.equal('slow starts')
      const stopped = second.stop({ deadline: 50 })
      await kit.advance(100)
      expect(await kit.until(stopped)).to.have.nested.property('error.code', 'ABORTED')
      expect(await kit.until(third.ask.alive())).to.equal(true)
    })

  for (const strategy of ['allForOne', 'restForOne'] as const)
    for (const restart of ['permanent', 'temporary'] as const)
      it(`does not restart, ${strategy}, a ${restart} child that is still starting`, async () => {
        const kit = new TestKit({ supervision: { strategy } })
        const diary: Diary = []
        const first = await kit.until(kit.system.spawnLocal(Member, { diary }, { name: 'first', restart: 'permanent' }))
        const spawned = kit.system.spawnLocal(Slow, { diary, clock: kit.clock, startTakes: 300 }, { name: 'second', restart })
        await kit.advance(50)
        first.tell.fail()
        await kit.advance(1000)
        const second = await kit.until(spawned)
        expect(diary).to.deep.equal([
          'first starts',
          'second starts',
          'first stops',
          'first starts',
          'first restarts: told to fail',
          'second is up'
        ])
        expect(await kit.run(second.ask.alive())).to.equal(true)
        await kit.run(kit.system.stop())
        expect(diary.filter((entry) => entry === 'second stops')).to.have.length(1)
      })

  it('gives children their own time to stop: the parent ends after them, however long they take', async () => {
    const kit = new TestKit()
    const diary: Diary = []
    const parent = await kit.until(
      kit.system.spawnLocal(SlowParent, { diary, clock: kit.clock, children: 3, stopTakes: 3000 }, { name: 'p', shutdown: 5000 })
    )
    await kit.run(kit.system.stop())
    expect(diary.filter((entry) => entry.endsWith('has stopped'))).to.deep.equal([
      'p/2 has stopped',
      'p/1 has stopped',
      'p/0 has stopped',
      'p has stopped'
    ])
    expect((await parent.exited).kind).to.equal('stopped')
    expect(kit.clock.now()).to.be.within(12_000, 12_100)
  })

  it('stops the children of an actor whose current message does not end', async () => {
    const kit = new TestKit()
    const diary: Diary = []
    const parent = await kit.until(
      kit.system.spawnLocal(SlowParent, { diary, clock: kit.clock, children: 2, stopTakes: 100 }, { name: 'p', shutdown: 1000 })
    )
    parent.tell.never()
    await kit.settle()
    await kit.run(kit.system.stop())
    expect(diary.filter((entry) => entry.endsWith('has stopped'))).to.deep.equal(['p/1 has stopped', 'p/0 has stopped'])
    expect(await parent.exited).to.have.nested.property('error.code', 'DEADLINE_EXCEEDED')
  })

  it('lets an actor whose children fail too often finish its current message, and then stops it', async () => {
    const kit = new TestKit()
    const diary: Diary = []
    const guardian = await kit.until(kit.system.spawnLocal(Guardian, { diary, clock: kit.clock }, { name: 'g' }))
    guardian.tell.work(300)
    const reason = await kit.run(guardian.exited)
    expect(reason).to.have.nested.property('error.code', 'ACTOR_FAILED')
    expect(diary).to.deep.equal(['g/child starts', 'g/child stops', 'g has worked', 'g stops'])
  })

  it('leaves it behind if that message takes longer than its `shutdown`', async () => {
    const kit = new TestKit()
    const diary: Diary = []
    const guardian = await kit.until(kit.system.spawnLocal(Guardian, { diary, clock: kit.clock }, { name: 'g', shutdown: 1_000 }))
    guardian.tell.work(Infinity)
    const reason = await kit.run(guardian.exited)
    expect(reason).to.have.nested.property('error.code', 'ACTOR_FAILED')
    expect(kit.clock.now()).to.equal(1_000)
    expect(diary).to.deep.equal(['g/child starts', 'g/child stops'])
  })

  it('does so in a worker, too', async () => {
    await using system = new ActorSystem()
    const guardian = await system.spawn<typeof Guardian>(MODULE, 'Guardian', { diary: [] }, { name: 'g', shutdown: 100 })
    guardian.tell.work(Infinity)
    expect(await guardian.exited).to.have.nested.property('error.code', 'ACTOR_FAILED')
  })

  it('stops children in reverse order, before their parent', async () => {
    const { kit, diary } = await familyOf('oneForOne')
    await kit.run(kit.system.stop())
    expect(diary).to.deep.equal(['p/2 stops', 'p/1 stops', 'p/0 stops', 'p stops'])
  })

  it('keeps messages to an actor that is being restarted, and rejects the asks that its last incarnation had not answered', async () => {
    const { kit, children } = await familyOf('oneForOne')
    const child = children[0]!
    child.tell.fail()
    const lost = refused('ACTOR_GONE', () => child.ask.alive(), 'restarted')
    await kit.settle()
    const kept = child.ask.alive()
    await kit.advance(20)
    await lost
    expect(await kept).to.equal(true)
  })

  it('keeps messages that are sent after the failure, while the actor still stops', async () => {
    const kit = new TestKit()
    const diary: Diary = []
    const slow = await kit.until(
      kit.system.spawnLocal(Slow, { diary, clock: kit.clock, stopTakes: 300 }, { name: 's', restart: 'permanent' })
    )
    slow.tell.fail()
    await kit.advance(100)
    slow.tell.write('was told')
    const asked = slow.ask.alive()
    expect(diary).to.deep.equal(['s starts', 's stops'])
    expect(await kit.run(asked)).to.equal(true)
    expect(diary).to.deep.equal(['s starts', 's stops', 's has stopped', 's starts', 's was told'])
    expect(kit.system.deadLetters).to.equal(0)
  })

  it('keeps them for an actor in a worker, too', async () => {
    await using system = new ActorSystem()
    const slow = await system.spawn<typeof SlowToStop>(MODULE, 'SlowToStop', { stopTakes: 200 }, { restart: 'permanent' })
    const thread = await slow.ask.thread()
    slow.tell.fail()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await slow.ask.thread()).to.be.above(thread)
    expect(system.deadLetters).to.equal(0)
  })

  it('lets an actor that stops while it starts end its start before its `stopping` hook', async () => {
    const kit = new TestKit()
    const diary: Diary = []
    const spawned = kit.system.spawnLocal(Slow, { diary, clock: kit.clock, startTakes: 300, leaves: true }, { name: 's' })
    const slow = await kit.run(spawned)
    await kit.run(slow.exited)
    expect(diary).to.deep.equal(['s starts', 's is up', 's stops', 's has stopped'])
  })

  it('gives all that have not started the same time to end', async () => {
    const kit = new TestKit()
    const never = { diary: [], clock: kit.clock, startTakes: Infinity }
    const spawned = [0, 1, 2].map((i) => kit.system.spawnLocal(Slow, never, { name: `slow ${i}` }))
    const refusals = spawned.map((each) => refused('ABORTED', () => each, 'stopped before it had started'))
    await kit.settle()
    let isOver = false
    void kit.system.stop({ deadline: 100 }).then(() => (isOver = true))
    await kit.advance(150)
    expect(isOver).to.equal(true)
    await Promise.all(refusals)
  })

  it('waits longer before every restart, and fails the parent with the first and the last error', async () => {
    const { kit, parent, children } = await familyOf('oneForOne', { restarts: 2, within: 10_000 })
    for (const cause of ['first', 'second', 'third']) {
      children[0]!.tell.fail(cause)
      await kit.advance(100)
    }
    const reason = await kit.until(parent.exited)
    expect(reason).to.have.nested.property('error.code', 'ACTOR_FAILED')
    expect(reason).to.have.nested.property('error.message').that.contains('first').and.contains('third')
    expect(reason).to.have.nested.property('error.cause.message', 'third')
    const delays = kit.events.flatMap((event) => (event.event === 'restarting' ? [event.delay] : []))
    expect(delays).to.have.length(2)
    expect(delays[0]).to.be.within(8, 10)
    expect(delays[1]).to.be.within(16, 20)
    expect(kit.events.map(({ event }) => event)).to.include('escalated')
  })

  it('ends the system if its own actors fail too often', async () => {
    const kit = new TestKit({ supervision: { intensity: { restarts: 0, within: 1 } } })
    const other = await kit.until(kit.system.spawnLocal(Member, { diary: [] }))
    const child = await kit.until(kit.system.spawnLocal(Member, { diary: [] }, { restart: 'permanent' }))
    child.tell.fail('only')
    expect(await kit.run(kit.system.failed)).to.include({ code: 'ACTOR_FAILED' })
    expect(await other.exited).to.deep.equal({ kind: 'stopped' })
    await refused('INVALID_STATE', () => kit.system.spawnLocal(Member, { diary: [] }))
  })

  it('restarts an actor according to its restart type', async () => {
    const { kit, diary, children } = await familyOf('oneForOne')
    const [permanent, transient, temporary] = children as [ActorRef<Member>, ActorRef<Member>, ActorRef<Member>]
    for (const child of [permanent, transient, temporary]) {
      child.tell.leave()
      await kit.settle()
    }
    await kit.advance(100)
    expect(diary).to.deep.equal(['p/0 stops', 'p/1 stops', 'p/2 stops', 'p/0 starts', 'p/0 restarts: it was stopped'])
    expect(await transient.exited).to.deep.equal({ kind: 'stopped' })
    await kit.run(permanent.stop())
    expect(diary.at(-1)).to.equal('p/0 stops')
  })

  it('counts a start that fails as another failure', async () => {
    const kit = new TestKit({ supervision: { intensity: { restarts: 3, within: 1_000 } } })
    const diary: Diary = []
    const child = await kit.until(kit.system.spawnLocal(Member, { diary, startsOnce: true }, { name: 'm', restart: 'permanent' }))
    child.tell.fail()
    const error = await kit.run(kit.system.failed)
    expect(error.message).to.contain('told to fail').and.contain('starts only once')
    expect(kit.events.filter(({ event }) => event === 'restarting')).to.have.length(3)
  })

  it('tells watchers why an actor has ended, before their other messages', async () => {
    const { kit, diary, parent, children } = await familyOf('oneForOne')
    const watcher = await kit.until(kit.system.spawnLocal(Member, { diary, watches: children[2]! }, { name: 'w' }))
    diary.length = 0
    watcher.suspend()
    watcher.tell.write('a message')
    children[2]!.tell.fail('the end')
    await kit.advance(100)
    expect(diary).to.deep.equal(['p/2 stops', 'w hears of p/2: it failed with Error: the end'])
    watcher.resume()
    await kit.settle()
    expect(diary.at(-1)).to.equal('w: a message')
    await kit.run(parent.stop())
  })

  it('lets actors in workers have children, and reports their events to the system', async () => {
    const system = new ActorSystem({ supervision: { intensity: { restarts: 1, within: 60_000 } } })
    const events: RuntimeEvent[] = []
    for (const name of ['started', 'restarting', 'escalated'] as const) system.events.on(name, (event) => events.push(event))
    const parent = await system.spawn<typeof Parent>(
      MODULE,
      'Parent',
      { diary: [], children: 2, supervision: { intensity: { restarts: 1, within: 60_000 } } },
      { name: 'p', restart: 'permanent' }
    )
    await parent.ask.failChild(0, 'one')
    await parent.ask.failChild(0, 'two').catch(() => {})
    const back = new Promise<void>((resolve) =>
      system.events.on('started', ({ actor, restarts: count }) => actor === 'p' && count === 1 && resolve())
    )
    await back
    expect(await parent.ask.alive()).to.equal(true)
    const escalated = events.find(({ event }) => event === 'escalated')
    expect(escalated).to.have.nested.property('error.code', 'ACTOR_FAILED')
    expect(events.some((event) => event.event === 'started' && event.actor === 'p/0' && event.restarts === 1)).to.equal(true)
    await system.stop()
  })
})
