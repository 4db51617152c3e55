import { expect } from 'chai'
import { REAL_CLOCK, VirtualClock } from '../../src/runtime/clock.js'
import { ActorSystem } from '../../src/runtime/system.js'
import type { Faulty } from './support/actors.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)
const LONGEST = 2 ** 31 - 1

describe('The clock', () => {
  it('sets timers of more than 24.8 days again and again, and none for ever', () => {
    const real = globalThis.setTimeout
    const set: { readonly action: () => void; readonly milliseconds: number }[] = []
    globalThis.setTimeout = ((action: () => void, milliseconds: number) =>
      void set.push({ action, milliseconds })) as unknown as typeof real
    try {
      let rung = 0
      REAL_CLOCK.after(Infinity, () => rung++)
      expect(set).to.deep.equal([])
      REAL_CLOCK.after(2 * LONGEST + 5, () => rung++)
      for (let i = 0; i < set.length; i++) {
        expect(rung).to.equal(0)
        set[i]!.action()
      }
      expect(set.map(({ milliseconds }) => milliseconds)).to.deep.equal([LONGEST, LONGEST, 5])
      expect(rung).to.equal(1)
    } finally {
      globalThis.setTimeout = real
    }
  })

  it('has no end to ring at, where it is virtual', () => {
    const clock = new VirtualClock()
    clock.after(Infinity, () => expect.fail('it rang'))
    expect(clock.next).to.equal(Infinity)
    expect(clock.ring()).to.equal(false)
  })

  it('gives actors for ever to start and to stop where they may take so long', async () => {
    await using system = new ActorSystem()
    const faulty = await system.spawn<typeof Faulty>(ACTORS, 'Faulty', { startTakes: 30 }, { deadline: Infinity, shutdown: Infinity })
    expect(await faulty.ask.alive()).to.equal(true)
    expect(await faulty.stop()).to.deep.equal({ kind: 'stopped' })
  })
})
