import { expect } from 'chai'
import { Crossover, type CrossoverEvent } from '../../src/crossover/crossover.js'
import type { CrossoverOptions, TrainOptions } from '../../src/index.js'
import { ends, SHORT, together } from '../run/hosts/support/together.js'

const SIZE = 2
let runs = 0

/** The same jobs on hosts that are threads of this process. */
function onHosts(jobs: readonly TrainOptions[], options: CrossoverOptions): Crossover[] {
  const name = `crossover ${process.pid} ${runs++}`
  return Array.from({ length: SIZE }, (_, rank) => {
    const linkOf = (number: number) => ({ kind: 'threads', name: `${name} ${number}`, rank, size: SIZE, deadline: 30 }) as const
    return new Crossover(jobs, options, linkOf)
  })
}

describe('crossover over several hosts', () => {
  const jobs: readonly TrainOptions[] = [
    { ...SHORT, evaluateEvery: 1000, until: { steps: 100 }, synchroniser: 'ssgd' },
    { ...SHORT, evaluateEvery: 1000, until: { steps: 100 }, synchroniser: 'sma', seed: 6 }
  ]

  it('gives jobs the weights that they have alone, bit for bit', async () => {
    const hosts = onHosts(jobs, { policy: 'crossed' })
    const [first, second] = await Promise.all(hosts.map(({ finished }) => finished))
    for (const [i, each] of jobs.entries()) {
      const [alone] = await ends(together(each, { size: SIZE }))
      expect([first, second].map((end) => end!.jobs[i]!.weightsSha256)).to.deep.equal([alone!.weightsSha256, alone!.weightsSha256])
    }
    // The first host's figures are those of all.
    expect(second).to.deep.equal(first)
  })

  it('goes on with a job on all hosts where the other one fails', async () => {
    const failing = { ...SHORT, optimiser: { learningRate: 1e30 } }
    const hosts = onHosts([failing, jobs[0]!], { policy: 'crossed' })
    const events = await Promise.all(
      hosts.map(async (host) => {
        const all: CrossoverEvent[] = []
        for await (const event of host) all.push(event)
        return all
      })
    )
    for (const all of events) expect(all.find(({ event }) => event === 'failed')).to.include({ job: 0, code: 'LOSS_NOT_FINITE' })
    const [alone] = await ends(together(jobs[0]!, { size: SIZE }))
    const both = await Promise.all(hosts.map(({ finished }) => finished))
    for (const { jobs: ended } of both) expect(ended[1]!.weightsSha256).to.equal(alone!.weightsSha256)
  })
})
