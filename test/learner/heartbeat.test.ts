import { expect } from 'chai'
import { Heartbeat, HeartbeatMonitor } from '../../src/learner/heartbeat.js'
import { refused } from '../support/codes.js'

describe('a heartbeat', () => {
  it('counts more steps than 32 bits hold, in another thread’s view of the same memory', () => {
    const heartbeat = new Heartbeat()
    const seen = new Heartbeat(heartbeat.memory)
    for (const steps of [2 ** 31 - 1, 1, 2 ** 31 - 1, 1]) heartbeat.beat(steps)
    expect([seen.steps, seen.beats]).to.deep.equal([2 ** 32, 4])
  })

  it('has stopped once so many checks in a row have found no beat', () => {
    const heartbeat = new Heartbeat()
    const monitor = new HeartbeatMonitor(heartbeat, 2)
    expect([monitor.hasStopped(), monitor.hasStopped()]).to.deep.equal([false, true])
    heartbeat.beat(0)
    expect(monitor.hasStopped()).to.equal(false)
  })

  it('refuses memory that threads do not share, or that is too small', async () => {
    await refused('INVALID_OPTION', () => new Heartbeat(new ArrayBuffer(16) as unknown as SharedArrayBuffer), 'SharedArrayBuffer')
    await refused('INVALID_OPTION', () => new Heartbeat(new SharedArrayBuffer(8)), '16 bytes')
  })
})
