import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { ActorMeter, readActorMeter } from '../../src/runtime/meter.js'

describe('a meter', () => {
  let memory: SharedArrayBuffer
  let meter: ActorMeter
  beforeEach(() => {
    memory = ActorMeter.memory()
    meter = new ActorMeter(memory)
  })

  it('counts every message, and samples the times of short turns without losing their number', () => {
    for (let i = 0; i < 10_000; i++) {
      meter.arrive()
      meter.begin()
      meter.end()
    }
    const { arrived, begun, handled, timed, busy, waited } = readActorMeter(memory)
    expect([arrived, begun, handled]).to.deep.equal([10_000, 10_000, 10_000])
    expect(timed).to.be.within(9_800, 10_200)
    expect(busy).to.be.above(0).and.below(1_000)
    expect(waited).to.be.above(0).and.below(1_000)
  })

  it('times every turn that takes long, and how long each message waited for it', async () => {
    for (let i = 0; i < 5; i++) meter.arrive()
    for (let i = 0; i < 5; i++) {
      meter.begin()
      await sleep(10)
      meter.end()
    }
    const { timed, busy, waited } = readActorMeter(memory)
    expect(timed).to.equal(5)
    expect(busy).to.be.at.least(45)
    expect(waited)
      .to.be.at.least(90)
      .and.at.most(busy * 4)
  })

  it('times again soon after a turn of a timed message has taken long, and counts each message once', async () => {
    // The first turn is short: from now on few messages are timed. The next one that is timed takes long, and so do those after it.
    for (let i = 0; i < 2 + 128; i++) await turn(i === 129 ? 10 : 0)
    const before = readActorMeter(memory)
    for (let i = 0; i < 10; i++) await turn(10)
    const { timed, busy } = readActorMeter(memory)
    expect(timed - before.timed).to.equal(10)
    expect(busy - before.busy).to.be.at.least(90)
  })

  it('lets a message stand for those before it that were not timed, whatever is known once its turn comes', async () => {
    // The turn of the first is short; the second arrives while all are timed, and is handled once few are.
    for (let i = 0; i < 2; i++) meter.arrive()
    meter.begin()
    meter.end()
    meter.begin()
    await sleep(10)
    meter.end()
    const { timed, busy } = readActorMeter(memory)
    expect(timed).to.equal(2)
    expect(busy).to.be.below(1_000)
  })

  async function turn(milliseconds: number): Promise<void> {
    meter.arrive()
    meter.begin()
    if (milliseconds > 0) await sleep(milliseconds)
    meter.end()
  }

  it('shows the waiting messages and the current one', () => {
    const [arrived, begun, handled] = [3, 1, 0]
    for (let i = 0; i < arrived; i++) meter.arrive()
    meter.begin()
    expect(readActorMeter(memory)).to.include({ thread: 0, arrived, begun, handled })
    meter.end()
    expect(readActorMeter(memory)).to.include({ arrived, begun, handled: 1 })
    expect(readActorMeter(memory).heap).to.be.above(100_000)
  })

  it('continues to count in the next incarnation, without the messages that the previous one lost', () => {
    for (let i = 0; i < 5; i++) meter.arrive()
    for (let i = 0; i < 2; i++) meter.begin()
    meter.end()
    const next = new ActorMeter(memory)
    expect(readActorMeter(memory)).to.include({ arrived: 1, begun: 1, handled: 1 })
    next.arrive()
    next.begin()
    next.end()
    expect(readActorMeter(memory)).to.include({ arrived: 2, begun: 2, handled: 2, timed: 2 })
  })
})
