import { expect } from 'chai'
import { FluidNetwork, type Flow, type Resource } from '../../../src/hosts/exchange/fluid-network.js'

const link = (capacity: number): Resource => ({ name: 'a link', capacity })

/** When each flow has arrived, if all begin at once. */
function arrivals(flows: readonly Flow[]): number[] {
  const network = new FluidNetwork()
  const ends: number[] = []
  for (const [i, flow] of flows.entries()) network.move(flow, () => (ends[i] = network.now))
  network.run()
  return ends
}

describe('a network of flows that share links', () => {
  it('gives flows of one link equal rates, and all of it to the last one', () => {
    const shared = new Map([[link(10), 1]])
    expect(arrivals([10, 20, 30].map((bytes) => ({ bytes, uses: shared })))).to.deep.equal([3, 5, 6])
  })

  it('lets no flow have more without one that has no more having less', () => {
    // Bertsekas and Gallager: the first flow shares a slow link with the second, and the fast one with the third.
    const [slow, fast] = [link(2), link(10)]
    const flows: Flow[] = [
      {
        bytes: 10,
        uses: new Map([
          [slow, 1],
          [fast, 1]
        ])
      },
      { bytes: 10, uses: new Map([[slow, 1]]) },
      { bytes: 90, uses: new Map([[fast, 1]]) }
    ]
    expect(arrivals(flows)).to.deep.equal([10, 10, 10])
  })

  it('moves several bytes through a link for each byte of a flow that stands for several', () => {
    const rack = link(8)
    expect(
      arrivals([
        {
          bytes: 4,
          uses: new Map([
            [link(100), 1],
            [rack, 4]
          ])
        }
      ])
    ).to.deep.equal([2])
  })

  it('moves nothing in no time, and knows the order of events', () => {
    const network = new FluidNetwork()
    const order: string[] = []
    network.after(2, () => order.push('late'))
    network.after(1, () => order.push('early'))
    network.move({ bytes: 0, uses: new Map([[link(1), 1]]) }, () => order.push('nothing'))
    network.move({ bytes: 1.5, uses: new Map([[link(1), 1]]) }, () => order.push('flow'))
    network.run()
    expect(order).to.deep.equal(['nothing', 'early', 'flow', 'late'])
    expect(network.now).to.equal(2)
  })
})
