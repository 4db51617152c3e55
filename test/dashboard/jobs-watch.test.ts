import { expect } from 'chai'
import { crossover } from '../../src/crossover/crossover.js'
import type { CurveUpdate, RunUpdate } from '../../src/dashboard/page/wire.js'
import { Stream } from './support/client.js'

describe('the dashboard of jobs that are crossed', () => {
  it('has all of them on one page, and who holds the device', async () => {
    const job = { model: 'mlp', data: 'digits', learners: 1, hosts: 'loopback', link: '100Mbit', until: { epochs: 100_000 } } as const
    const pair = crossover([job, job], { policy: 'crossed', dashboard: true })
    const stream = new Stream((await pair.dashboard)!)
    const shares = new Map<string, CurveUpdate>()
    const states = new Map<string, string>()
    while (shares.size < 2) {
      const message = (await stream.next()) as unknown as { readonly runs: readonly RunUpdate[] }
      for (const { id, curves, facts } of message.runs) {
        if (curves?.['device']) shares.set(id, curves['device'])
        if (facts) states.set(id, facts.sharing ?? '')
      }
    }
    for (const { points } of shares.values()) for (const [, share] of points) expect(share).within(0, 1)
    expect([...states.values()].join()).to.match(/job [01] computes now|no job has a turn now/)
    pair.stop()
    await pair.finished
    while (await stream.next()) continue
    expect(stream.isClosed).to.equal(true)
  }).timeout(120_000)
})
