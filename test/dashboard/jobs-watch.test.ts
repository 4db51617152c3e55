import { expect } from 'chai'
import { crossover } from '../../src/crossover/crossover.js'
import type { RunUpdate } from '../../src/dashboard/page/wire.js'
import { freePort } from '../support/free-port.js'
import { thrown } from '../support/thrown.js'
import { Stream } from './support/client.js'

describe('the dashboard of jobs that are crossed', () => {
  it('takes no numbers from Prometheus: each job answers at its own port, too', async () => {
    const job = { model: 'mlp', data: 'digits', learners: 1, until: { epochs: 100_000 } } as const
    const metricsPort = await freePort()
    const pair = crossover([{ ...job, metricsPort }, job], { policy: 'shared', dashboard: true })
    try {
      expect(await pair.dashboard).to.be.a('string')
      expect(await pair.jobs[0]!.dashboard).to.equal(await pair.dashboard)
      const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
      expect(await response.text()).to.include('arbalest_iterations')
    } finally {
      pair.stop()
      await pair.finished
    }
  }).timeout(120_000)

  it('is one page: a job cannot have one besides', () => {
    const job = { model: 'mlp', data: 'digits', learners: 1 } as const
    const refused = thrown(() => crossover([job, { ...job, dashboard: { port: 9472 } }], { dashboard: true }))
    expect(refused).to.include({ code: 'INVALID_OPTION' })
    expect(refused.message).to.match(/^jobs\[1\]\.dashboard: received .*; omit it: the page of all jobs shows this one, too/)
  })

  it('has all of them on one page, and who holds the device', async () => {
    const job = { model: 'mlp', data: 'digits', learners: 1, hosts: 'loopback', link: '100Mbit', until: { epochs: 100_000 } } as const
    const pair = crossover([job, job], { policy: 'crossed', dashboard: true })
    const stream = new Stream((await pair.dashboard)!)
    const shares = new Map<string, number[]>()
    const states = new Map<string, string>()
    while (shares.size < 2) {
      const message = (await stream.next()) as unknown as { readonly runs: readonly RunUpdate[] }
      for (const { id, curves, facts } of message.runs) {
        // Until the scheduler has decided, no job has turns.
        const known = (curves?.['device']?.points ?? []).flatMap(([, share]) => share ?? [])
        if (known.length > 0) shares.set(id, known)
        if (facts) states.set(id, facts.sharing ?? '')
      }
    }
    for (const known of shares.values()) for (const share of known) expect(share).within(0, 1)
    expect([...states.values()].join()).to.match(/job [01] computes now|no job has a turn now/)
    pair.stop()
    await pair.finished
    while (await stream.next()) continue
    expect(stream.isClosed).to.equal(true)
  }).timeout(120_000)

  it('does not say that nobody holds the device where all compute at any time', async () => {
    const job = { model: 'mlp', data: 'digits', learners: 1, until: { epochs: 100_000 } } as const
    const pair = crossover([job, job], { policy: 'shared', dashboard: true })
    const stream = new Stream((await pair.dashboard)!)
    let [state, share]: [string | null, number | null | undefined] = [null, undefined]
    // The policy is measured first: for that each job has the device alone.
    for (let measured = false; !measured || state !== 'all may compute at any time' || share !== null;) {
      const message = (await stream.next()) as unknown as { readonly runs: readonly RunUpdate[] }
      for (const { curves, facts } of message.runs) {
        if (curves?.['device']) share = curves['device'].points.at(-1)![1]
        if (facts) state = facts.sharing
        measured ||= /^job [01] computes now$/.test(state ?? '')
      }
    }
    pair.stop()
    await pair.finished
  }).timeout(120_000)
})
