import { expect } from 'chai'
import type { ExchangeEvent, JobEvent } from '../../../src/observe/events.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { trainWith } from '../../../src/run/train.js'
import { refused } from '../../support/codes.js'
import { ends, eventsOf, SHORT, together, withHubs } from './support/together.js'

const RACKS = [
  [0, 1],
  [2, 3]
]

const exchangeOf = (events: readonly JobEvent[]) => events.find((event): event is ExchangeEvent => event.event === 'exchange')
const hashOf = (events: readonly JobEvent[]) => events.flatMap((event) => (event.event === 'finished' ? [event.weightsSha256] : []))[0]

describe('The exchange of a run over hosts', () => {
  it('ends with the same weights every way, and is told with its reason', async () => {
    const [first] = await ends(together(SHORT, { size: 4 }))
    for (const options of [
      { exchange: 'racks', racks: RACKS },
      { exchange: 'ring', ruleAt: 'owners' }
    ] satisfies Partial<TrainOptions>[]) {
      const [events] = await Promise.all(together({ ...SHORT, ...options }, { size: 4 }).map(eventsOf))
      expect(exchangeOf(events!)).to.deep.equal({ event: 'exchange', mode: options.exchange, predicted: [], reason: 'as given' })
      expect(hashOf(events!)).to.equal(first!.weightsSha256)
    }
  })

  it('adds in the order of arrival to sums of the same numbers, and says that they cannot be reproduced', async () => {
    const options: TrainOptions = { ...SHORT, order: 'arrival' }
    // Two numbers have one sum in either order.
    const [two] = await ends(together(SHORT))
    for (const ruleAt of ['all', 'owners'] as const) {
      const [events] = await Promise.all(together({ ...options, ruleAt }).map(eventsOf))
      expect(hashOf(events!)).to.equal(two!.weightsSha256)
      expect(exchangeOf(events!)!.reason).to.contain('cannot be reproduced')
    }
    const [ranks] = await ends(together({ ...SHORT, learners: 8 }, { size: 4 }))
    const arrived = await ends(together({ ...options, learners: 8 }, { size: 4 }))
    expect(new Set(arrived.map(({ weightsSha256 }) => weightsSha256)).size).to.equal(1)
    expect(arrived[0]!.testLoss).to.be.closeTo(ranks!.testLoss, 1e-3)
    const { jobs } = withHubs({ ...options, learners: 8 }, { size: 4 })
    expect((await ends(jobs))[0]!.testLoss).to.be.closeTo(ranks!.testLoss, 1e-3)
  })

  it('by arrival is refused where sums are made in another way', async () => {
    const refusedFor = async (more: Partial<TrainOptions>, word: string) =>
      refused('INVALID_OPTION', () => trainWith({ ...SHORT, order: 'arrival', ...more }, {}).finished, 'order', word)
    await refusedFor({ exchange: 'ring' }, 'exchange ring')
    await refusedFor({ exchange: 'auto' }, 'exchange auto')
    await refusedFor({ hosts: 'loopback' }, 'loopback')
  })

  it('is chosen from links that all hosts measure', async () => {
    const [first] = await ends(together(SHORT, { size: 4 }))
    const [events] = await Promise.all(together({ ...SHORT, exchange: 'auto', racks: RACKS }, { size: 4 }).map(eventsOf))
    const { mode, predicted, reason } = exchangeOf(events!)!
    expect(predicted.map(({ exchange }) => exchange)).to.have.members(['sharded', 'racks', 'ring'])
    for (const { milliseconds } of predicted) expect(milliseconds).above(0)
    expect(predicted.map(({ exchange }) => exchange)).to.include(mode)
    expect(reason).to.match(/links of .* between racks .* a sum/)
    expect(hashOf(events!)).to.equal(first!.weightsSha256)
  })

  it('is refused for racks that are not those of the run, where nothing can be summed so, and where one host differs in it', async () => {
    const racks = { ...SHORT, exchange: 'racks' } as const
    const onAll = async (options: TrainOptions, ...words: readonly string[]) => {
      for (const job of together(options)) await refused('INVALID_OPTION', () => job.finished, ...words)
    }
    await onAll({ ...racks, racks: [[0, 1, 2]] }, 'racks', 'each of the 2 hosts once') // prettier-ignore
    await onAll({ ...racks, racks: [[1], [0]] }, 'racks', 'follow one another') // prettier-ignore
    const alone = (options: TrainOptions) => () => trainWith(options, {}).finished
    await refused('INVALID_OPTION', alone(racks), 'exchange', 'name the racks')
    await refused('INVALID_OPTION', alone({ ...SHORT, exchange: 'ring', backend: 'reference' }), 'exchange', '64 bits')
    await refused('INVALID_OPTION', alone({ ...SHORT, exchange: 'ring', backend: 'cuda-host' as 'cuda' }), 'exchange', 'NCCL')
    await refused('INVALID_OPTION', alone({ ...SHORT, exchange: 'auto', hosts: 'none' }), 'exchange', 'hosts is none')
    await refused('INVALID_OPTION', alone({ ...SHORT, racks: RACKS, hosts: 'loopback' }), 'racks', 'hosts is loopback')
    const jobs = together({ ...SHORT, exchange: 'ring' }, { other: { exchange: 'sharded' } })
    await Promise.all(jobs.map((job) => refused('HOSTS_DIFFER', () => job.finished, 'exchange: rank 1')))
  })
})
