import { expect } from 'chai'
import fc from 'fast-check'
import { EXCHANGES, type Exchange } from '../../../src/hosts/exchange/exchanges.js'
import type { Racks } from '../../../src/hosts/exchange/racks.js'
import { trafficOf } from '../../../src/hosts/exchange/traffic.js'

const HUB = -1

type Send = (from: number, to: number, bytes: number) => void

/** Every send of an exchange by itself, as the hosts make them. */
function sendsOf(exchange: Exchange, bytes: number, racks: Racks, send: Send): void {
  const ranks = racks.flat().sort((a, b) => a - b)
  if (exchange === 'hub') {
    for (const rank of ranks) {
      send(rank, HUB, bytes)
      send(HUB, rank, bytes)
    }
    return
  }
  const summing = exchange === 'racks' ? racks : exchange === 'ring' ? ranks.map((rank) => [rank]) : [ranks]
  const both = (a: number, b: number, moved: number) => {
    send(a, b, moved)
    send(b, a, moved)
  }
  for (const [i, rack] of summing.entries()) {
    for (const owner of rack) for (const host of rack) if (host !== owner) both(host, owner, bytes / rack.length)
    const next = summing[i + 1] ?? []
    for (const owner of rack) for (const other of next) both(owner, other, bytes / (rack.length * next.length))
  }
}

describe('the traffic of an exchange', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 })

  it('is that of the sends that the hosts make, on the busiest of each kind of link, in each direction', () => {
    fc.assert(
      fc.property(fc.constantFrom(...EXCHANGES), sizes, fc.boolean(), (exchange, lengths, inTurns) => {
        const hosts = lengths.reduce((sum, length) => sum + length, 0)
        const racks: number[][] = lengths.map(() => [])
        let next = 0
        // Rack by rack, or in turns as far as a rack has hosts.
        if (inTurns)
          for (let rank = 0; rank < hosts; next++)
            racks[next % racks.length]!.length < lengths[next % racks.length]! && racks[next % racks.length]!.push(rank++)
        else for (const [i, length] of lengths.entries()) for (let k = 0; k < length; k++) racks[i]!.push(next++)
        const rackOf = (rank: number) => racks.findIndex((rack) => rack.includes(rank))
        const loads = { out: new Map<string, number>(), into: new Map<string, number>() }
        const add = (direction: 'out' | 'into', at: string, moved: number) =>
          loads[direction].set(at, (loads[direction].get(at) ?? 0) + moved)
        sendsOf(exchange, 1e6, racks, (from, to, moved) => {
          add('out', from === HUB ? 'hub' : `host ${from}`, moved)
          add('into', to === HUB ? 'hub' : `host ${to}`, moved)
          if (rackOf(from) === rackOf(to)) return
          if (from !== HUB) add('out', `rack ${rackOf(from)}`, moved)
          if (to !== HUB) add('into', `rack ${rackOf(to)}`, moved)
        })
        const found = trafficOf(exchange, 1e6, racks)
        for (const kind of ['host', 'rack', 'hub'] as const)
          for (const of of [loads.out, loads.into]) {
            const most = Math.max(0, ...[...of].filter(([at]) => at.startsWith(kind)).map(([, moved]) => moved))
            expect(found[kind], `${exchange} ${JSON.stringify(racks)} ${kind}`).closeTo(most, 1e-3)
          }
      })
    )
  })

  it('has a message for each chunk of 32 KiB that a host sends', () => {
    const chunk = 32 * 1024
    expect(trafficOf('sharded', 8 * chunk, [[0, 1, 2, 3]]).messages).to.equal(2 * 3 * 2)
    expect(trafficOf('racks', 8 * chunk, [[0, 1], [2, 3]]).messages).to.equal(2 * 4 + 4) // prettier-ignore
    expect(trafficOf('ring', 8 * chunk, [[0, 1, 2]]).messages).to.equal(2 * 8)
    expect(trafficOf('hub', 8 * chunk + 1, [[0, 1]]).messages).to.equal(9)
  })
})
