import { expect } from 'chai'
import { actorRates } from '../../../src/cli/top/actor-rates.js'
import { topTable } from '../../../src/cli/top/top-command.js'
import type { ActorSnapshot } from '../../../src/runtime/snapshot.js'

const IDLE: ActorSnapshot = {
  name: 'learner 0',
  thread: 3,
  depth: 0,
  busy: false,
  deferred: 0,
  messages: 100,
  timed: 100,
  waitTime: 50,
  handleTime: 1000,
  restarts: 0,
  heap: 9_400_000
}

describe('what `arbalest top` shows of an actor', () => {
  it('covers the time between two snapshots', () => {
    const now = { ...IDLE, messages: 120, timed: 120, waitTime: 60, handleTime: 1200 }
    expect(actorRates(IDLE, now, 0.5)).to.deep.equal({ rate: 40, wait: 0.5, handle: 10, share: 0.4 })
  })

  it('scales sampled times to all messages', () => {
    const now = { ...IDLE, messages: 1100, timed: 200, handleTime: 1010 }
    const { share, handle } = actorRates(IDLE, now, 1)
    expect(handle).to.be.closeTo(0.1, 1e-9)
    expect(share).to.be.closeTo(0.1, 1e-9)
  })

  it('is all of the time in a turn that does not end, and nothing where nothing was done', () => {
    expect(actorRates(IDLE, { ...IDLE, busy: true }, 1)).to.deep.equal({ rate: 0, wait: null, handle: null, share: 1 })
    expect(actorRates(IDLE, IDLE, 1)).to.deep.equal({ rate: 0, wait: null, handle: null, share: 0 })
  })

  it('begins at nothing for an actor that is new or was counted anew', () => {
    expect(actorRates(undefined, IDLE, 10).rate).to.equal(10)
    expect(actorRates({ ...IDLE, messages: 1000, timed: 1000 }, IDLE, 1)).to.include({ rate: 0, share: 0 })
  })

  it('stands in columns, plain where colour is not wanted', () => {
    const actors = [
      { ...IDLE, ...actorRates(undefined, IDLE, 10) },
      { ...IDLE, name: 'supervisor', thread: 0, heap: 0, restarts: 3, ...actorRates(IDLE, IDLE, 1) }
    ]
    const job = { pid: 4711, id: '1', name: 'lenet on mnist', seconds: 75, actors }
    expect(topTable([job], { colour: false })).to.deep.equal([
      '4711  lenet on mnist  1:15',
      'actor       state  thread  waiting  messages   /s    wait     turn  in turn  restarts    heap',
      'learner 0   idle        3        0       100   10  500 us  10.0 ms      10%         0  9.4 MB',
      'supervisor  idle        0        0       100  0.0       -        -       0%         3       -'
    ])
    expect(topTable([job], { colour: true }).join('')).to.contain('\x1b[33m')
    expect(topTable([], { colour: false })).to.have.length(1)
  })
})
