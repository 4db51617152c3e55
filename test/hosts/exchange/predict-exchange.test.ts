import { expect } from 'chai'
import fc from 'fast-check'
import { ClusterResources, type Cluster } from '../../../src/hosts/exchange/cluster.js'
import { FluidNetwork, type Resource } from '../../../src/hosts/exchange/fluid-network.js'
import { modesOf, stagesOf, type ExchangeMode } from '../../../src/hosts/exchange/modes.js'
import { predictExchange, type StepShape } from '../../../src/hosts/exchange/predict-exchange.js'

const MB = 1e6
const cluster = (changes: Partial<Cluster> = {}): Cluster => ({
  hosts: 4,
  gpus: 0,
  hostsOfRack: 4,
  link: 25 * MB,
  gpuLink: 450e9,
  oversubscription: 1,
  hub: undefined,
  secondsPerMessage: 0,
  processor: Infinity,
  ...changes
})

/** One bucket of all gradients, which come at the end of a step. */
const atEnd = (bytes: number, computing = 1): StepShape => ({ computing, updating: 0, buckets: [{ bytes, ready: computing }] })

function exchangeOf(mode: ExchangeMode, bytes: number, machines: Cluster): number {
  return predictExchange(atEnd(bytes), machines).find((each) => each.mode === mode)!.exchangeSeconds
}

describe('the prediction of an exchange', () => {
  it('is the bandwidth bound 2M(H-1)/(H B) where hosts own parts, and of a ring', () => {
    for (const hosts of [2, 3, 8])
      for (const mode of ['sharded', 'ring'] as const)
        expect(exchangeOf(mode, 10 * MB, cluster({ hosts, hostsOfRack: hosts }))).closeTo((2 * 10 * (hosts - 1)) / hosts / 25, 1e-9)
  })

  it('is max(M/B, H M/Bhub) each way of a central hub', () => {
    expect(exchangeOf('hub', 10 * MB, cluster({ hub: 100 * MB }))).closeTo(0.8, 1e-9)
    expect(exchangeOf('hub', 10 * MB, cluster({ hub: 50 * MB }))).closeTo(1.6, 1e-9)
    expect(modesOf(cluster())).to.not.include('hub')
  })

  it('has racks that cross a slow link with their sums alone', () => {
    // A rack's link has a quarter of a host's rate: 6.25 MB/s.
    const racks = cluster({ hostsOfRack: 2, oversubscription: 8 })
    expect(predictExchange(atEnd(10 * MB), racks)[0]!.mode).to.equal('racks')
    // Within a rack a half of M each way; across, as much of both hosts together.
    expect(exchangeOf('racks', 10 * MB, racks)).closeTo(2 * (5 / 25) + 2 * (5 / 6.25), 1e-9)
    // One neighbour is in the other rack.
    expect(exchangeOf('rack-ring', 10 * MB, racks)).closeTo(2 * (7.5 / 6.25), 1e-9)
    // Two of three are.
    expect(exchangeOf('sharded', 10 * MB, racks)).closeTo(2 * (10 / 6.25), 1e-9)
  })

  it('hides what fits behind the rest of backward, and all of it for averaging that has a whole step', () => {
    const early: StepShape = { computing: 1, updating: 0.1, buckets: [{ bytes: 10 * MB, ready: 0.5 }] }
    const [found] = predictExchange(early, cluster())
    expect(found).to.deep.include({ mode: 'sharded', averagingStepSeconds: 1.1 })
    expect(found!.stepSeconds).closeTo(1.2, 1e-9)
    expect(found!.hidden).closeTo(0.5 / 0.6, 1e-9)
  })

  it('has the times of a network in which every host has links of its own', () => {
    const sizes = fc.record({
      hosts: fc.constantFrom(2, 4, 6, 8),
      inRack: fc.constantFrom(1, 2),
      oversubscription: fc.constantFrom(1, 2, 8)
    })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 50 }), ({ hosts, inRack, oversubscription }, megabytes) => {
        const machines = cluster({ hosts, hostsOfRack: inRack, oversubscription })
        const [stage] = stagesOf('sharded', megabytes * MB, machines, new ClusterResources(machines))
        const merged = new FluidNetwork()
        for (const flow of stage!.flows) merged.move(flow, () => {})
        merged.run()
        expect(merged.now).closeTo(explicitScatter(machines, megabytes * MB), 1e-6)
      })
    )
  })

  it('takes moments for a thousand GPUs', () => {
    const buckets = Array.from({ length: 400 }, (_, i) => ({ bytes: MB, ready: i / 400 }))
    const machines = cluster({ hosts: 128, gpus: 8, hostsOfRack: 16, link: 12.5e9, oversubscription: 4, hub: 50e9 })
    const found = predictExchange({ computing: 1, updating: 0, buckets }, machines)
    expect(found.map(({ mode }) => mode)).to.have.members(['sharded', 'ring', 'rack-ring', 'racks', 'hub'])
  }).timeout(20_000)
})

/** Each host sends each other host its part, through links of its own and those of the racks. */
function explicitScatter({ hosts, hostsOfRack, link, oversubscription }: Cluster, bytes: number): number {
  const make = (count: number, bytesPerSecond: number): Resource[] =>
    Array.from({ length: count }, () => ({ name: 'a link', bytesPerSecond }))
  const racks = Math.ceil(hosts / hostsOfRack)
  const [up, down] = [make(hosts, link), make(hosts, link)]
  const rate = (hostsOfRack * link) / oversubscription
  const [rackUp, rackDown] = [make(racks, rate), make(racks, rate)]
  const rackOf = (host: number) => Math.floor(host / hostsOfRack)
  const network = new FluidNetwork()
  for (let from = 0; from < hosts; from++)
    for (let to = 0; to < hosts; to++) {
      if (from === to) continue
      const uses = new Map([
        [up[from]!, 1],
        [down[to]!, 1]
      ])
      if (rackOf(from) !== rackOf(to)) uses.set(rackUp[rackOf(from)]!, 1).set(rackDown[rackOf(to)]!, 1)
      network.move({ bytes: bytes / hosts, uses }, () => {})
    }
  network.run()
  return network.now
}
