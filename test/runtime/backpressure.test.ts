import { expect } from 'chai'
import type { MailboxOptions } from '../../src/runtime/flow-control.js'
import type { RuntimeEvent } from '../../src/runtime/events.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { refused } from '../support/codes.js'
import { Recorder, type Faulty } from './support/actors.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)

for (const place of ['in a worker', 'in the caller’s thread'] as const) {
  describe(`A full mailbox ${place}`, () => {
    let system: ActorSystem
    let letters: RuntimeEvent[]
    beforeEach(() => {
      system = new ActorSystem()
      letters = []
      system.events.on('deadLetter', (event) => letters.push(event))
    })
    afterEach(() => system.stop())

    /** Its current message answers when `open` is told. */
    const full = async (mailbox: MailboxOptions) => {
      const recorder =
        place === 'in a worker'
          ? await system.spawn<typeof Recorder>(ACTORS, 'Recorder', {}, { name: 'r', mailbox })
          : await system.spawnLocal<typeof Recorder>(Recorder, {}, { name: 'r', mailbox })
      recorder.suspend()
      return recorder
    }

    it('lets its sender wait, in order and without loss', async () => {
      const recorder = await full({ capacity: 4 })
      for (let i = 0; i < 20; i++) recorder.tell.note(String(i))
      let room = false
      const waited = recorder.mailboxHasRoom().then(() => (room = true))
      const log = recorder.ask.log()
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(room).to.equal(false)
      recorder.resume()
      expect(await log).to.deep.equal(Array.from({ length: 20 }, (_, i) => String(i)))
      await waited
      expect(letters).to.deep.equal([])
    })

    it('lets no sender wait for room once its actor has ended', async () => {
      const recorder = await full({ capacity: 1 })
      recorder.tell.note('a')
      const waited = recorder.mailboxHasRoom()
      await recorder.stop()
      await waited
      await recorder.mailboxHasRoom()
    })

    it('rejects asks and counts tells as dead letters with `reject`', async () => {
      const recorder = await full({ capacity: 2, whenFull: 'reject' })
      for (const text of ['a', 'b', 'c', 'd']) recorder.tell.note(text)
      await refused('MAILBOX_FULL', () => recorder.ask.log(), 'r.log')
      const letter = { event: 'deadLetter', actor: 'r', method: 'note', cause: 'mailboxFull', count: 1 }
      expect(letters).to.deep.equal([letter, letter])
      expect(system.deadLetters).to.equal(2)
      recorder.resume()
      await recorder.mailboxHasRoom()
      expect(await recorder.ask.log()).to.deep.equal(['a', 'b'])
    })

    it('drops the oldest message that is still at the sender with `dropOldest`', async () => {
      const recorder = await full({ capacity: 4, whenFull: 'dropOldest' })
      const asked = recorder.ask.slowly('a', 0)
      for (const text of ['b', 'c', 'd', 'e', 'f']) recorder.tell.note(text)
      recorder.resume()
      expect(await asked).to.equal('a')
      await recorder.mailboxHasRoom()
      expect(await recorder.ask.log()).to.deep.equal(['a begins', 'a ends', 'd', 'e', 'f'])
      expect(letters).to.have.length(2)
    })

    it('refuses an impossible capacity and an unknown policy', async () => {
      await refused('INVALID_OPTION', () => full({ capacity: 0 }), 'capacity', '0')
      await refused('INVALID_OPTION', () => full({ whenFull: 'panic' as never }), 'panic')
    })
  })
}

describe('Dead letters', () => {
  for (const how of ['fail', 'throwFromTimer'] as const)
    for (const worker of [undefined, 'shared'])
      it(`are all tells that a failed worker did not handle (${how}${worker ? ', in a shared thread' : ''})`, async () => {
        await using system = new ActorSystem({ supervision: { backoff: { first: 100 } } })
        const other = worker && (await system.spawn<typeof Recorder>(ACTORS, 'Recorder', {}, { worker }))
        const count = new Int32Array(new SharedArrayBuffer(4))
        const faulty = await system.spawn<typeof Faulty>(ACTORS, 'Faulty', {}, { restart: 'permanent', ...(worker ? { worker } : {}) })
        const back = new Promise<void>((resolve) => system.events.on('started', ({ restarts }) => restarts === 1 && resolve()))
        faulty.tell[how]()
        let sent = 0
        const sending = setInterval(() => {
          for (let i = 0; i < 10; i++) faulty.tell.count(count.buffer)
          sent += 10
        })
        await back
        clearInterval(sending)
        await faulty.ask.alive()
        expect(sent).to.be.above(100)
        expect(count[0]! + system.deadLetters).to.equal(sent)
        if (other) await other.stop()
      })

  it('are tells to an actor that has ended, or that ended before their turn', async () => {
    await using system = new ActorSystem()
    const letters: RuntimeEvent[] = []
    system.events.on('deadLetter', (event) => letters.push(event))
    for (const recorder of [await system.spawn<typeof Recorder>(ACTORS, 'Recorder', {}), await system.spawnLocal(Recorder, {})]) {
      letters.length = 0
      void recorder.ask.slowly('a', 20)
      recorder.tell.note('unread')
      await recorder.stop()
      recorder.tell.note('too late')
      const gone = { event: 'deadLetter', actor: recorder.name, method: 'note', cause: 'actorGone', count: 1 }
      expect(letters, recorder.name).to.deep.equal([gone, gone])
    }
  })
})
