import { expect } from 'chai'
import { ActorSystem } from '../../src/runtime/system.js'
import { uncaughtIn } from '../support/uncaught.js'
import type { Recorder } from './support/actors.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)

describe('a listener to a system’s events that throws', () => {
  for (const event of ['started', 'exited', 'deadLetter'] as const)
    it(`disturbs no actor: ${event}`, async () => {
      const system = new ActorSystem()
      system.events.on(event, ({ actor }) => {
        throw new Error(`${event}: ${actor}`)
      })
      const errors = await uncaughtIn(async () => {
        const recorder = await system.spawn<typeof Recorder>(ACTORS, 'Recorder', {}, { name: 'recorder' })
        expect(await recorder.ask.log()).to.deep.equal([])
        expect(await recorder.stop()).to.deep.equal({ kind: 'stopped' })
        recorder.tell.note('too late')
        await system.stop()
      })
      expect(errors.map((error) => (error as Error).message)).to.deep.equal([`${event}: recorder`])
    })
})
