import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect } from 'chai'
import type { RuntimeEvent } from '../../src/runtime/events.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { Recorder } from './support/actors.js'
import type { Foreman } from './support/foreman.js'

const FOREMAN = new URL('./support/foreman.js', import.meta.url)

describe('diagnostics channels', () => {
  const heard: RuntimeEvent[] = []
  const listen = (message: unknown) => void heard.push(message as RuntimeEvent)
  const names = ['started', 'restarting', 'exited', 'escalated', 'deadLetter', 'unhealthy'] as const
  beforeEach(() => {
    heard.length = 0
    for (const name of names) subscribe(`arbalest:actor:${name}`, listen)
  })
  afterEach(() => {
    for (const name of names) unsubscribe(`arbalest:actor:${name}`, listen)
  })

  it('report starts, dead letters and exits', async () => {
    const system = new ActorSystem()
    const recorder = await system.spawnLocal(Recorder, {}, { name: 'recorder' })
    await recorder.stop()
    recorder.tell.note('too late')
    await system.stop()
    expect(heard.map(({ event, actor }) => [event, actor])).to.deep.equal([
      ['started', 'recorder'],
      ['exited', 'recorder'],
      ['deadLetter', 'recorder']
    ])
    expect(heard[2]).to.include({ method: 'note', cause: 'actorGone', count: 1 })
  })

  it('report failures in other threads, with their error, and what follows', async () => {
    const system = new ActorSystem({ supervision: { intensity: { restarts: 1, within: 60_000 } } })
    const foreman = await system.spawn<typeof Foreman>(FOREMAN, 'Foreman', {}, { name: 'foreman', restart: 'permanent' })
    const again = new Promise((resolve) => system.events.on('started', resolve))
    foreman.tell.fail()
    await again
    foreman.tell.fail()
    await system.failed
    expect(heard.map(({ event }) => event)).to.deep.equal(['started', 'restarting', 'started', 'exited', 'escalated'])
    expect(heard[1]).to.have.nested.property('reason.error.message', 'told to fail')
  })
})
