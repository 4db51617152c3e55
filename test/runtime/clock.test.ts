import { expect } from 'chai'
import { deadlineAfter, REAL_CLOCK, VirtualClock } from '../../src/runtime/clock.js'
import { ActorSystem } from '../../src/runtime/system.js'
import type { Faulty } from './support/actors.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)
const LONGEST = 2 ** 31 - 1

describe('The clock', () => {
  it('sets a timer of more than 24.8 days in several parts, and none for Infinity', () => {
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

  it('never rings for Infinity if it is virtual', () => {
    const clock = new VirtualClock()
    clock.after(Infinity, () => expect.fail('it rang'))
    expect(clock.next).to.equal(Infinity)
    expect(clock.ring()).to.equal(false)
  })

  it('lets a deadline pass in parts, of which a suspension takes one at most', () => {
    let now = 0
    let alarm: { readonly at: number; readonly action: () => void } | undefined
    const after = (milliseconds: number, action: () => void) => {
      alarm = { at: now + milliseconds, action }
      return () => (alarm = undefined)
    }
    /** The time at which the deadline is over, where the process is suspended so long within the first alarm. */
    const over = (suspended: number) => {
      now = 0
      let overAt = NaN
      deadlineAfter({ now: () => now, after }, 1000, () => (overAt = now))
      for (let first = true; alarm; first = false) {
        const { at, action } = alarm
        alarm = undefined
        now = at + (first ? suspended : 0)
        action()
      }
      return overAt
    }
    expect([0, 5, 5000].map(over)).to.deep.equal([1000, 1005, 6000])
    deadlineAfter({ now: () => now, after }, 1000, () => expect.fail('it was cancelled'))()
    expect(alarm).to.equal(undefined)
  })

  it('sets no limit to the start and the stop of actors that may take for ever', async () => {
    await using system = new ActorSystem()
    const faulty = await system.spawn<typeof Faulty>(ACTORS, 'Faulty', { startTakes: 30 }, { deadline: Infinity, shutdown: Infinity })
    expect(await faulty.ask.alive()).to.equal(true)
    expect(await faulty.stop()).to.deep.equal({ kind: 'stopped' })
  })
})
