import { expect } from 'chai'
import { ActorSystem } from '../../src/runtime/system.js'
import { refused } from '../support/codes.js'
import { Recorder } from './support/actors.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)

describe('actors', () => {
  for (const place of ['in a worker', 'in the caller’s thread'] as const) {
    describe(place, () => {
      let system: ActorSystem
      beforeEach(() => (system = new ActorSystem()))
      afterEach(() => system.stop())

      const spawn = () =>
        place === 'in a worker' ? system.spawn<typeof Recorder>(ACTORS, 'Recorder', {}) : system.spawnLocal<typeof Recorder>(Recorder, {})

      it('handle the messages of one sender in order, tells and asks alike', async () => {
        const recorder = await spawn()
        const expected = Array.from({ length: 2000 }, (_, i) => String(i))
        const asks: Promise<void>[] = []
        for (const [i, text] of expected.entries()) {
          if (i % 3 === 0) asks.push(recorder.ask.note(text))
          else recorder.tell.note(text)
        }
        await Promise.all(asks)
        expect(await recorder.ask.log()).to.deep.equal(expected)
      })

      it('handle one message at a time, also while one waits for a promise', async () => {
        const recorder = await spawn()
        const first = recorder.ask.slowly('a', 20)
        recorder.tell.note('between')
        expect(await Promise.all([first, recorder.ask.slowly('b', 1)])).to.deep.equal(['a', 'b'])
        expect(await recorder.ask.log()).to.deep.equal(['a begins', 'a ends', 'between', 'b begins', 'b ends'])
      })

      it('answer others while they send endless messages to themselves', async () => {
        const recorder = await spawn()
        recorder.tell.turn()
        const early = await recorder.ask.turns()
        await new Promise((resolve) => setTimeout(resolve, 5))
        expect(await recorder.ask.turns()).to.be.greaterThan(early)
      })

      it('end after the current message when they are stopped, though many others wait', async () => {
        const recorder = await spawn()
        for (let i = 0; i < 1000; i++) recorder.tell.compute(10)
        await new Promise((resolve) => setTimeout(resolve, 5))
        expect(await recorder.stop()).to.deep.equal({ kind: 'stopped' })
        expect(system.deadLetters).to.be.greaterThan(0)
      })

      it('may defer a reply beyond the end of their turn', async () => {
        const recorder = await spawn()
        const answer = recorder.ask.wait()
        await recorder.ask.open('now')
        expect(await answer).to.equal('now')
      })

      it('let an ask end at its deadline and handle the next one', async () => {
        const recorder = await spawn()
        const error = await refused('DEADLINE_EXCEEDED', () => recorder.askWith({ deadline: 10 }).slowly('a', 60))
        expect(error.message).to.contain('slowly').and.to.contain('10 ms')
        expect(await recorder.ask.slowly('b', 1)).to.equal('b')
      })

      it('let a signal abort an ask, before and while it runs', async () => {
        const recorder = await spawn()
        const reason = new Error('changed my mind')
        await refused('ABORTED', () => recorder.askWith({ signal: AbortSignal.abort(reason) }).note('never'))
        const controller = new AbortController()
        const ask = recorder.askWith({ signal: controller.signal }).slowly('a', 20)
        controller.abort(reason)
        expect((await refused('ABORTED', () => ask)).cause).to.be.instanceOf(Error)
        expect(await recorder.ask.log()).to.not.contain('never')
      })

      it('name their methods when they are asked for an unknown one', async () => {
        const recorder = await spawn()
        const error = await refused('UNKNOWN_NAME', () => (recorder.ask as unknown as { sing(): Promise<void> }).sing())
        expect(error.message).to.contain('sing').and.to.contain('slowly')
        for (const hook of ['constructor', 'stopping']) {
          await refused('UNKNOWN_NAME', () => (recorder.ask as unknown as Record<string, () => Promise<unknown>>)[hook]!(), hook)
        }
      })

      it('are stopped in order and answer nothing afterwards', async () => {
        const recorder = await spawn()
        const inHand = recorder.ask.slowly('a', 20)
        const waiting = refused('ACTOR_GONE', () => recorder.ask.slowly('b', 1))
        await new Promise((resolve) => setTimeout(resolve, 5))
        expect(await recorder.stop()).to.deep.equal({ kind: 'stopped' })
        expect(await inHand).to.equal('a')
        await waiting
        await refused('ACTOR_GONE', () => recorder.ask.log())
        expect(await recorder.stop()).to.deep.equal({ kind: 'stopped' })
      })
    })
  }
})
