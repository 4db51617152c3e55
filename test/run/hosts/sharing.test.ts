import { expect } from 'chai'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { leave } from '../../fakes/leaving-host.js'
import { refused } from '../../support/codes.js'
import { ifSeldom } from '../../support/seldom.js'
import { ends, SHORT, sharing, together } from './support/together.js'

const FIRST: TrainOptions = { ...SHORT, synchroniser: 'ssgd' }
const SECOND: TrainOptions = { ...SHORT, synchroniser: 'sma', batch: 16, seed: 6 }
const NOTHING = { nonces: 0, lengths: 0, keys: 0 }

describe('Jobs that share a hub', () => {
  let alone: readonly unknown[]
  before(async () => {
    const all = await Promise.all([FIRST, SECOND].map((options) => ends(together(options))))
    alone = all.map(([first]) => first!.weightsSha256)
  })

  it('end with the weights that each has alone', async () => {
    const { jobs, hub, served } = sharing([FIRST, SECOND])
    const found = await Promise.all(jobs.map(ends))
    expect(found.map(([first]) => first!.weightsSha256)).to.deep.equal(alone)
    await hub
    expect(served).to.have.deep.members([0, 1].map((job) => ({ event: 'served', job, refused: NOTHING })))
  })

  for (const forges of [999, ...ifSeldom(30_000)])
    it(`end with them when ${forges} messages have the nonce, the length or the key of no message, which the hub refuses and counts`, async () => {
      const { jobs, hub, served } = sharing([FIRST, SECOND], { forges })
      const found = await Promise.all(jobs.map(ends))
      expect(found.map(([first]) => first!.weightsSha256)).to.deep.equal(alone)
      await hub
      const each = forges / 3
      expect(served.find(({ job }) => job === 0)!.refused).to.deep.equal({ nonces: each, lengths: each, keys: each })
      expect(served.find(({ job }) => job === 1)!.refused).to.deep.equal(NOTHING)
    })

  it('go on when another one sends more than 4,096 messages that nobody expects, and ends with that', async () => {
    const { jobs, hub, served } = sharing([{ ...FIRST, until: { steps: 100_000 } }, SECOND], { forges: 5000, floods: true })
    for (const job of jobs[0]!) await refused('HOST_LOST', () => job.finished)
    expect((await ends(jobs[1]!))[0]!.weightsSha256).to.equal(alone[1])
    await hub
    const { failed } = served.find(({ job }) => job === 0)!
    expect(failed!.code).to.equal('HOST_LOST')
    expect(failed!.message).to.include('4096 messages')
    expect(served.find(({ job }) => job === 1)).to.deep.equal({ event: 'served', job: 1, refused: NOTHING })
  })

  it('keep as many messages as that, which may be expected later', async () => {
    const { jobs, hub, served } = sharing([FIRST, SECOND], { forges: 4096, floods: true })
    const found = await Promise.all(jobs.map(ends))
    expect(found.map(([first]) => first!.weightsSha256)).to.deep.equal(alone)
    await hub
    for (const job of [0, 1]) expect(served.find((each) => each.job === job)).to.deep.equal({ event: 'served', job, refused: NOTHING })
  })

  it('go on when another one loses a host', async () => {
    const engine = new URL('../../fakes/leaving-host.js', import.meta.url)
    const { jobs, hub, served } = sharing([{ ...FIRST, until: { steps: 100_000 } }, SECOND], { engine })
    jobs[0]![0]!.once('progress', leave)
    for (const job of jobs[0]!) await refused('HOST_LOST', () => job.finished)
    expect((await ends(jobs[1]!))[0]!.weightsSha256).to.equal(alone[1])
    await hub
    expect(served.find(({ job }) => job === 0)!.failed!.code).to.equal('HOST_LOST')
    expect(served.find(({ job }) => job === 1)).to.deep.equal({ event: 'served', job: 1, refused: NOTHING })
  })
})
