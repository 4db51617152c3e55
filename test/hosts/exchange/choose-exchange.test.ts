import { expect } from 'chai'
import type { LinkFigures } from '../../../src/engine/contract.js'
import { chooseExchange, linkCosts } from '../../../src/hosts/exchange/choose-exchange.js'
import { exchangeSeconds, type LinkCosts } from '../../../src/hosts/exchange/cost-model.js'
import { checkRacks, summingRacks, type Racks } from '../../../src/hosts/exchange/racks.js'
import { refused } from '../../support/codes.js'

const MB = 1e6
const PAIRS: Racks = [
  [0, 1],
  [2, 3]
]
const costs = (changes: Partial<LinkCosts> = {}): LinkCosts => ({ link: 25 * MB, across: Infinity, latency: 0, processor: 0, ...changes })
/** Beside the first chunk of 32 KiB, which is small against the whole. */
const BYTES = 100 * MB

describe('the cost of an exchange', () => {
  it('is the bandwidth bound 2M(H-1)/(H B) of the sharded exchange, and M/B or 2M/B of a ring in the order of ranks', () => {
    for (const hosts of [2, 3, 8]) {
      const racks = [Array.from({ length: hosts }, (_, rank) => rank)]
      expect(exchangeSeconds('sharded', BYTES, racks, costs())).closeTo((2 * 4 * (hosts - 1)) / hosts, 0.05)
      expect(exchangeSeconds('ring', BYTES, racks, costs())).closeTo(hosts === 2 ? 4 : 8, 0.05)
    }
  })

  it('has M bytes on the link between two racks each way, where the sharded exchange has 2M of them', () => {
    const slow = costs({ across: 6.25 * MB })
    expect(exchangeSeconds('racks', BYTES, PAIRS, slow)).closeTo(16, 0.05)
    expect(exchangeSeconds('ring', BYTES, PAIRS, slow)).closeTo(16, 0.05)
    expect(exchangeSeconds('sharded', BYTES, PAIRS, slow)).closeTo(32, 0.05)
    // With ranks in turns, a ring crosses with every hop.
    expect(exchangeSeconds('ring', BYTES, [[0, 2], [1, 3]], slow)).closeTo(3 * 16, 0.05) // prettier-ignore
    // Within a rack each host has 1.5 M each way.
    expect(exchangeSeconds('racks', BYTES, PAIRS, costs())).closeTo(6, 0.05)
  })

  it('is that of the hub where a central one has a narrow link, and of the hosts where it has a wide one', () => {
    const racks = [[0, 1, 2, 3]]
    expect(exchangeSeconds('hub', BYTES, racks, costs({ hub: 50 * MB }))).closeTo(8, 0.05)
    expect(exchangeSeconds('hub', BYTES, racks, costs({ hub: 200 * MB }))).closeTo(4, 0.05)
  })

  it('has the processor and the messages that the first chunk waits for', () => {
    expect(exchangeSeconds('sharded', BYTES, [[0, 1]], costs({ processor: 1 / MB }))).closeTo(200, 0.1)
    // Two hosts send each other a half, and the sum of the other one, in chunks of 32 KiB.
    expect(exchangeSeconds('sharded', 6 * 32 * 1024, [[0, 1]], costs({ message: 1 }))).closeTo(6, 0.01)
    expect(exchangeSeconds('sharded', 1, [[0, 1]], costs({ latency: 1 }))).closeTo(2, 1e-6)
    expect(exchangeSeconds('racks', 1, PAIRS, costs({ latency: 1 }))).closeTo(4, 1e-6)
    expect(exchangeSeconds('ring', 1, PAIRS, costs({ latency: 1 }))).closeTo(6, 1e-6)
  })
})

/** What four hosts measure whose links have 25 MB/s, and whose racks have this rate between them. */
function figuresOf(racks: Racks, across: number): LinkFigures {
  const rackOf = (rank: number) => racks.findIndex((rack) => rack.includes(rank))
  const turns = [1, 2, 3].map((distance) => {
    const crosses = (to: number) => rackOf(to) !== rackOf((to + 4 - distance) % 4)
    const sharing = (to: number) => [0, 1, 2, 3].filter((other) => crosses(other) && rackOf(other) === rackOf(to)).length
    const bytesPerSecond = [0, 1, 2, 3].map((to) => (crosses(to) ? Math.min(25 * MB, across / sharing(to)) : 25 * MB))
    return { distance, bytesPerSecond }
  })
  return { turns, latency: [1e-4, 2e-4, 3e-4, 2e-4], secondsPerByte: [1e-9, 1e-9, 3e-9, 1e-9] }
}

describe('the choice of an exchange', () => {
  it('takes the rates of links and of racks from what hosts have measured', () => {
    const found = linkCosts(figuresOf(PAIRS, 6.25 * MB), PAIRS)
    expect(found).to.deep.equal({ link: 25 * MB, across: 6.25 * MB, latency: 2e-4, processor: 1e-9 })
    expect(linkCosts(figuresOf([[0, 1, 2, 3]], 25 * MB), [[0, 1, 2, 3]])).to.include({ link: 25 * MB, across: Infinity })
  })

  it('is racks where the link between them is slow, and sharded where it is not, with all candidates and the reason', () => {
    const slow = chooseExchange(BYTES, PAIRS, costs({ across: 6.25 * MB, latency: 1e-3 }))
    expect(slow.exchange).to.equal('racks')
    expect(slow.candidates.map(({ exchange }) => exchange)).to.deep.equal(['racks', 'ring', 'sharded'])
    expect(slow.reason).to.match(/links of 200 Mbit\/s, between racks 50\.0 Mbit\/s: racks .* ms a sum, ring .* ms, sharded .* ms$/)
    expect(chooseExchange(BYTES, PAIRS, costs({ across: 50 * MB })).exchange).to.equal('sharded')
    expect(chooseExchange(BYTES, [[0, 1, 2, 3]], costs()).candidates.map(({ exchange }) => exchange)).to.deep.equal(['sharded', 'ring'])
  })

  it('has no racks whose ranks do not follow one another', () => {
    const { exchange, candidates, reason } = chooseExchange(BYTES, [[0, 2], [1, 3]], costs({ across: 6.25 * MB })) // prettier-ignore
    expect(exchange).to.equal('sharded')
    expect(candidates).to.have.length(2)
    expect(reason).to.include('no racks: sums are made in the order of ranks')
  })
})

describe('the racks of a run', () => {
  it('are all hosts, each once, in the order of ranks where sums are made by them', async () => {
    for (const racks of [
      [[0, 1]],
      [
        [0, 1],
        [1, 2]
      ],
      [
        [0, 1],
        [2, 3]
      ]
    ])
      // prettier-ignore
      await refused('INVALID_OPTION', () => checkRacks(racks, 3), 'racks', 'each of the 3 hosts once')
    await refused('INVALID_OPTION', () => checkRacks([[0, 2], [1]], 3, 'racks'), 'racks: received "0,2;1"', 'follow one another') // prettier-ignore
    await refused('INVALID_OPTION', () => checkRacks([[0, 1, 2]], 3, 'racks'), 'racks', 'two racks or more')
    expect(() => checkRacks([[0, 2], [1]], 3, 'auto')).to.not.throw() // prettier-ignore
  })

  it('have a host with a capacity each: hosts without one belong to a rack beside them', () => {
    expect(summingRacks('sharded', PAIRS, [1, 1, 1, 1])).to.deep.equal([[0, 1, 2, 3]])
    expect(summingRacks('ring', [], [1, 1, 1])).to.deep.equal([[0], [1], [2]])
    expect(summingRacks('ring', [], [0, 1, 1])).to.deep.equal([[0, 1], [2]])
    expect(summingRacks('ring', [], [1, 0, 0, 1])).to.deep.equal([[0], [1, 2, 3]])
    expect(summingRacks('racks', PAIRS, [1, 1, 0, 0])).to.deep.equal([[0, 1, 2, 3]])
    expect(summingRacks('racks', PAIRS, [1, 0, 0, 1])).to.deep.equal(PAIRS)
  })
})
