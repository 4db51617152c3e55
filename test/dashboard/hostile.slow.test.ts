import { expect } from 'chai'
import { train } from '../../src/run/train.js'
import { HOSTILE_KINDS, sendHostile } from './support/hostile.js'

const HOW = { model: 'mlp', data: 'digits', learners: 2, seed: 5, until: { epochs: 40 } } as const

describe('the dashboard of a run that trains', () => {
  it('serves none of 10,000 hostile requests, and the weights are those of an undisturbed run', async () => {
    const undisturbed = await train(HOW).finished
    const job = train({ ...HOW, until: { epochs: 10_000 }, dashboard: true })
    const { sent, served } = await sendHostile((await job.dashboard)!, { requests: 10_000, seed: 2 })
    job.stop()
    expect(served).to.deep.equal([])
    expect(Object.keys(sent)).to.have.members(HOSTILE_KINDS)
    expect((await job.finished).iterations).to.be.above(0)
    const watched = train({ ...HOW, dashboard: true })
    const attack = sendHostile((await watched.dashboard)!, { requests: 500, seed: 3 })
    expect((await watched.finished).weightsSha256).to.equal(undisturbed.weightsSha256)
    expect((await attack).served).to.deep.equal([])
  }).timeout(600_000)
})
