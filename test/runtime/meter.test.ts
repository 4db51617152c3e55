import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Meter, readMeter } from '../../src/runtime/meter.js'
import { snapshotOf } from '../../src/runtime/snapshot.js'

describe('a meter', () => {
  const handled = async (meter: Meter, milliseconds = 0) => {
    const begin = meter.begin(meter.arrive())
    if (milliseconds > 0) await sleep(milliseconds)
    meter.end(begin)
  }

  it('counts every message, and samples the times of short ones without losing their number', async () => {
    const memory = Meter.memory()
    const meter = new Meter(memory)
    for (let i = 0; i < 10_000; i++) await handled(meter)
    const { arrived, begun, handled: done, timed, busy, waited } = readMeter(memory)
    expect([arrived, begun, done]).to.deep.equal([10_000, 10_000, 10_000])
    expect(timed).to.be.within(9_900, 10_100)
    expect(busy).to.be.above(0).and.below(1_000)
    expect(waited).to.be.above(0).and.below(1_000)
  })

  it('times every one of those that take long', async () => {
    const memory = Meter.memory()
    const meter = new Meter(memory)
    for (let i = 0; i < 5; i++) await handled(meter, 10)
    const { timed, busy } = readMeter(memory)
    expect(timed).to.equal(5)
    expect(busy).to.be.at.least(45)
  })

  it('tells of what waits and of what is in hand while it is so', () => {
    const figures = Meter.memory()
    const meter = new Meter(figures)
    const look = () => snapshotOf({ name: 'a', place: 'here', restarts: 2, figures })
    const arrivals = [meter.arrive(), meter.arrive(), meter.arrive()]
    expect(look()).to.include({ name: 'a', place: 'here', restarts: 2, depth: 3, busy: false, messages: 0 })
    const begin = meter.begin(arrivals[0]!)
    expect(look()).to.include({ depth: 2, busy: true, messages: 0 })
    meter.end(begin)
    expect(look()).to.include({ depth: 2, busy: false, messages: 1 })
    meter.lose()
    expect(look()).to.include({ depth: 1 })
    expect(look().heap).to.be.above(100_000)
  })
})
