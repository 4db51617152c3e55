import { expect } from 'chai'
import fc from 'fast-check'
import { ClusterTraffic, exchangeOf, modesOf, type Cluster, type ExchangeMode } from '../../../src/hosts/exchange/cluster.js'
import { exchangeSeconds } from '../../../src/hosts/exchange/cost-model.js'
import { FluidNetwork, type Resource } from '../../../src/hosts/exchange/fluid-network.js'
import { predictExchange, type StepShape } from '../../../src/hosts/exchange/predict-exchange.js'
import { ClusterResources, stagesOf } from '../../../src/hosts/exchange/stages.js'

const MB = 1e6
const LINK = 25 * MB

interface Machines {
  readonly hosts?: number
  readonly hostsOfRack?: number
  readonly gpus?: number
  readonly oversubscription?: number
  readonly hub?: number
  readonly latency?: number
  readonly processor?: number
  readonly message?: number
}

const cluster = ({ hosts = 4, hostsOfRack = 4, gpus = 0, oversubscription = 1, hub, ...costs }: Machines = {}): Cluster => ({
  hosts,
  gpus,
  hostsOfRack,
  gpuLink: 450e9,
  costs: { link: LINK, across: (hostsOfRack * LINK) / oversubscription, hub, latency: 0, processor: 0, ...costs }
})

/** One bucket of all gradients, which come at the end of a step. */
const atEnd = (bytes: number, computing = 1): StepShape => ({ computing, updating: 0, buckets: [{ bytes, ready: computing }] })

function secondsOf(mode: ExchangeMode, bytes: number, machines: Cluster): number {
  return predictExchange(atEnd(bytes), machines).find((each) => each.mode === mode)!.exchangeSeconds
}

describe('the prediction of an exchange', () => {
  it('is that by which a run chooses its exchange, where a sum is alone', () => {
    const machines = fc.record({
      hosts: fc.integer({ min: 2, max: 12 }),
      hostsOfRack: fc.integer({ min: 1, max: 12 }),
      oversubscription: fc.constantFrom(1, 4),
      hub: fc.constantFrom(50 * MB, 400 * MB),
      latency: fc.constantFrom(0, 1e-3),
      processor: fc.constantFrom(0, 1e-7),
      message: fc.constantFrom(0, 1e-3)
    })
    fc.assert(
      fc.property(machines, fc.integer({ min: 1, max: 50 * MB }), (given, bytes) => {
        const described = cluster(given)
        for (const mode of modesOf(described)) {
          const { exchange, racks } = exchangeOf(mode, described)
          const expected = exchangeSeconds(exchange, bytes, racks, described.costs)
          expect(secondsOf(mode, bytes, described) / expected, mode).closeTo(1, 1e-6)
        }
      })
    )
  })

  it('has racks, and a ring that knows of them, cross a slow link once, and a ring that does not with every hop', () => {
    // A rack's link has a quarter of a host's rate: 6.25 MB/s.
    const racks = cluster({ hostsOfRack: 2, oversubscription: 8 })
    expect(predictExchange(atEnd(10 * MB), racks).map(({ mode }) => mode)).to.deep.equal(['racks', 'rack-ring', 'sharded', 'ring'])
    for (const [mode, seconds] of [
      ['racks', 1.6],
      ['rack-ring', 1.6],
      ['sharded', 3.2],
      ['ring', 4.8]
    ] as const)
      // prettier-ignore
      expect(secondsOf(mode, 10 * MB, racks), mode).closeTo(seconds, 0.05)
    expect(modesOf(cluster())).to.deep.equal(['sharded', 'ring'])
  })

  it('hides what fits behind the rest of backward, and all of it for averaging that has a whole step', () => {
    const early: StepShape = { computing: 1, updating: 0.1, buckets: [{ bytes: 10 * MB, ready: 0.5 }] }
    const [found] = predictExchange(early, cluster())
    expect(found).to.deep.include({ mode: 'sharded', averagingStepSeconds: 1.1 })
    expect(found!.stepSeconds).closeTo(1.2, 0.01)
    expect(found!.hidden).closeTo(0.5 / 0.6, 0.01)
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
        const given = { cluster: machines, traffic: new ClusterTraffic(machines), resources: new ClusterResources() }
        const [stage] = stagesOf('sharded', megabytes * MB, given)
        const merged = new FluidNetwork()
        merged.move(stage!.flow, () => {})
        merged.run()
        expect(merged.now).closeTo(explicitExchange(machines, oversubscription, megabytes * MB), 1e-6)
      })
    )
  })

  it('takes moments for a thousand GPUs', () => {
    const buckets = Array.from({ length: 400 }, (_, i) => ({ bytes: MB, ready: i / 400 }))
    const machines = cluster({ hosts: 128, gpus: 8, hostsOfRack: 16, oversubscription: 4, hub: 50e9 })
    const found = predictExchange({ computing: 1, updating: 0, buckets }, machines)
    expect(found.map(({ mode }) => mode)).to.have.members(['sharded', 'ring', 'rack-ring', 'racks', 'hub'])
  }).timeout(20_000)
})

/** Each host sends each other host its part, and the sum of its own, through links of its own and those of the racks. */
function explicitExchange({ hosts, hostsOfRack }: Cluster, oversubscription: number, bytes: number): number {
  const make = (count: number, capacity: number): Resource[] => Array.from({ length: count }, () => ({ name: 'a link', capacity }))
  const racks = Math.ceil(hosts / hostsOfRack)
  const [up, down] = [make(hosts, LINK), make(hosts, LINK)]
  const rate = (hostsOfRack * LINK) / oversubscription
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
      network.move({ bytes: (2 * bytes) / hosts, uses }, () => {})
    }
  network.run()
  return network.now
}
