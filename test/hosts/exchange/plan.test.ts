import { expect } from 'chai'
import fc from 'fast-check'
import type { ParameterLayout } from '../../../src/compiler/program.js'
import type { ExchangeChunk, SynchronousRule } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import { CHUNK_BYTES, planExchange, type ElementRange } from '../../../src/hosts/exchange/plan.js'
import { predictionGraph } from '../../../src/model/graph-builder.js'
import { elements, parametersOf } from '../../../src/model/graph.js'
import { modelNamed, zoo } from '../../../src/model/zoo/index.js'
import { rule } from '../../engine/support/rule-pair.js'
import { TEXT } from '../../support/zoo.js'

const LINE = 64
const F32 = { elementBytes: 4 }

/** As a job lays its parameters out, but for the order within each. */
function layoutOf(name: string): ParameterLayout {
  let bytes = 0
  let canonical = 0
  const parameters = parametersOf(
    predictionGraph(modelNamed(name, TEXT.includes(name) ? { input: [64], classes: 65 } : { input: [3, 224, 224], classes: 1000 }))
  ).map(({ name: parameter, shape }) => {
    const placed = { name: parameter, shape, type: 'f32', layout: 'plain', offset: bytes, bytes: 4 * elements(shape), canonical } as const
    bytes += LINE * Math.ceil(placed.bytes / LINE)
    canonical += elements(shape)
    return placed
  })
  return { parameters, bytes, elements: canonical }
}

function bucketsOf(layout: ParameterLayout, named: 'ssgd' | 'sma'): ElementRange[] {
  const bounds = engine.levelBuckets(layout, rule({ name: named }, 2) as SynchronousRule)
  return Array.from({ length: bounds.length / 2 }, (_, i) => ({ begin: bounds[2 * i]!, end: bounds[2 * i + 1]! }))
}

function loadsOf(chunks: readonly ExchangeChunk[], hosts: number): number[] {
  const loads = Array.from({ length: hosts }, () => 0)
  for (const { begin, end, host } of chunks) loads[host]! += end - begin
  return loads
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
const imbalance = (loads: readonly number[]): number => (Math.max(...loads) * loads.length) / sum(loads)

/**
 * When a host got its last chunk, any other would have had more of its capacity with it: the load is at most the share, and the longest chunk of each other host,
 * divided by capacity. The shares are rounded: their least bits do not count.
 */
function mostWith(capacities: readonly number[], host: number, share: number, longest: number): number {
  const others = capacities.filter((capacity) => capacity > 0).length - 1
  return (share + (others * longest * capacities[host]!) / sum(capacities)) * (1 + 1e-12)
}

describe('the plan of an exchange', () => {
  for (const name of Object.keys(zoo))
    it(`gives every host as much to sum: ${name}`, () => {
      const layout = layoutOf(name)
      for (const named of ['ssgd', 'sma'] as const) {
        const buckets = bucketsOf(layout, named)
        for (const hosts of [2, 3, 8])
          for (const [chunkBytes, most] of [
            [CHUNK_BYTES, 1.01],
            [2 * 2 ** 20, 1.03]
          ] as const) {
            const capacities = Array.from({ length: hosts }, () => 1)
            const chunks = planExchange(buckets, capacities, { ...F32, chunkBytes })
            expect(imbalance(loadsOf(chunks, hosts)), `${hosts} hosts`).at.most(most)
            let at = 0
            for (const { begin, end } of buckets) {
              const from = at
              while (chunks[at] && chunks[at]!.begin >= begin && chunks[at]!.end <= end) at++
              // Up to a line for each chunk of a host.
              const own = loadsOf(chunks.slice(from, at), hosts)
              const ofHost = Math.ceil((4 * (end - begin)) / (hosts * chunkBytes))
              expect(4 * (Math.max(...own) - Math.min(...own)), `a bucket of ${hosts} hosts`).at.most(LINE * (ofHost + 1))
            }
          }
      }
    })

  const bounds = fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 12 })
  const capacities = fc
    .array(fc.oneof(fc.constant(0), fc.double({ min: 0.1, max: 10, noNaN: true })), { minLength: 1, maxLength: 9 })
    .filter((all) => all.some((capacity) => capacity > 0))

  it('fills the buckets in their order with chunks of whole lines that are not too long', () => {
    fc.assert(
      fc.property(bounds, capacities, fc.constantFrom(1024, 4096, CHUNK_BYTES), (lengths, hosts, chunkBytes) => {
        const ends = lengths.map((_, i) => 16 * sum(lengths.slice(0, i + 1)))
        // From the last to the first, as those of gradients are.
        const buckets = ends.map((end, i) => ({ begin: ends[i - 1] ?? 0, end })).reverse()
        const chunks = planExchange(buckets, hosts, { ...F32, chunkBytes })
        let next = 0
        for (const bucket of buckets)
          for (let at = bucket.begin; at < bucket.end;) {
            const { begin, end, host } = chunks[next++]!
            expect(begin).to.equal(at)
            expect(4 * (end - begin)).within(1, chunkBytes)
            expect(end % 16).to.equal(0)
            expect(hosts[host]).above(0)
            at = end
          }
        expect(next).to.equal(chunks.length)
      }),
      { numRuns: 50 }
    )
  })

  it('gives each host what its capacity is worth, to within its part of the longest chunks', () => {
    fc.assert(
      fc.property(bounds, capacities, (lengths, hosts) => {
        const buckets = lengths.map((length, i) => ({ begin: 16 * sum(lengths.slice(0, i)), end: 16 * sum(lengths.slice(0, i + 1)) }))
        const chunks = planExchange(buckets, hosts, F32)
        const longest = Math.max(...chunks.map(({ begin, end }) => end - begin))
        const whole = sum(hosts)
        for (const [host, load] of loadsOf(chunks, hosts.length).entries()) {
          const share = (hosts[host]! / whole) * sum(lengths) * 16
          if (hosts[host] === 0) expect(load).to.equal(0)
          else expect(load).at.most(mostWith(hosts, host, share, longest))
        }
      }),
      { numRuns: 50 }
    )
  })

  it('has an owner in each rack for every chunk, each rack dealt out by capacity', () => {
    const cut = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(bounds, cut, fc.infiniteStream(fc.double({ min: 0.1, max: 10, noNaN: true })), (lengths, sizes, some) => {
        let rank = 0
        const racks = sizes.map((size) => Array.from({ length: size }, () => rank++))
        const hosts = Array.from({ length: rank }, () => some.next().value)
        const buckets = lengths.map((length, i) => ({ begin: 16 * sum(lengths.slice(0, i)), end: 16 * sum(lengths.slice(0, i + 1)) }))
        const chunks = planExchange(buckets, hosts, { ...F32, racks })
        const longest = Math.max(...chunks.map(({ begin, end }) => end - begin))
        for (const [i, rack] of racks.entries()) {
          const ownerOf = ({ relays = [], host }: ExchangeChunk): number => [...relays, host][i]!
          const loads = rack.map((owner) => sum(chunks.filter((chunk) => ownerOf(chunk) === owner).map(({ begin, end }) => end - begin)))
          expect(sum(loads)).to.equal(16 * sum(lengths))
          const whole = sum(rack.map((owner) => hosts[owner]!))
          for (const [at, load] of loads.entries())
            expect(load).at.most(mostWith(rack.map((owner) => hosts[owner]!), at, (hosts[rack[at]!]! / whole) * sum(lengths) * 16, longest)) // prettier-ignore
        }
      }),
      { numRuns: 50 }
    )
  })
})
