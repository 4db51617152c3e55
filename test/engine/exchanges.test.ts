import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { OptimiserAttributes } from '../../src/compiler/optimiser.js'
import type { Handle, LevelSpec, LinkFigures } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import type { NamedRule } from '../../src/rules/rules.js'
import { refused } from '../support/codes.js'
import { ifSeldom, seldom } from '../support/seldom.js'
import { GroupRun } from './support/group-run.js'
import { HostsRun, joined, levelOf, training, type Summing } from './support/hosts-run.js'
import { OPTIMISER, rule } from './support/rule-pair.js'
import { largestDifference } from './support/small-training.js'

const RULES: Record<string, { rule: NamedRule; optimiser?: OptimiserAttributes }> = {
  'ssgd with Adam': { rule: { name: 'ssgd' }, optimiser: { name: 'adam', weightDecay: 1e-3 } },
  sma: { rule: { name: 'sma', syncMomentum: 0.3 } },
  diloco: { rule: { name: 'diloco', period: 3 } },
  ...(seldom.tested && {
    'ssgd with momentum': { rule: { name: 'ssgd' } },
    'local SGD': { rule: { name: 'local-sgd', period: 3 } }
  })
}

/** Racks of one, two and three hosts, the first, the last and those between. */
const WAYS: readonly { readonly hosts: number; readonly summing: Summing; readonly capacities?: readonly number[] }[] = [
  ...ifSeldom<{ readonly hosts: number; readonly summing: Summing }>(
    { hosts: 2, summing: { exchange: 'ring' } },
    { hosts: 4, summing: { exchange: 'ring' } },
    { hosts: 3, summing: { exchange: 'racks', racks: [[0, 1], [2]] } }
  ),
  { hosts: 3, summing: { exchange: 'ring' } },
  { hosts: 3, summing: { exchange: 'racks', racks: [[0], [1, 2]] } },
  {
    hosts: 4,
    summing: {
      exchange: 'racks',
      racks: [
        [0, 1],
        [2, 3]
      ]
    }
  },
  { hosts: 4, summing: { exchange: 'racks', racks: [[0], [1, 2], [3]] }, capacities: [1, 1, 3, 0] }
]

function train(
  hosts: number,
  named: NamedRule,
  {
    optimiser,
    learners = 4,
    ...summing
  }: Summing & { readonly optimiser?: OptimiserAttributes | undefined; readonly learners?: number; readonly capacities?: readonly number[] }
): Buffer[] {
  const what = training(true, optimiser ?? OPTIMISER)
  const how = rule(named, learners)
  const run = new HostsRun(what, how, hosts, 1, summing).add(learners).lift()
  for (const { group } of run.runs) engine.setPause(group, 4)
  run.runToRest()
  for (const each of run.runs) each.reached(4)
  for (const { group } of run.runs) expect(engine.groupStatus(group)).to.include({ round: 4 })
  const centrals = run.centrals()
  expect(largestDifference(run.runs[0]!.central(), what.initial)).above(1e-3)
  run.release()
  return centrals
}

describe('Hosts that sum by racks, or around a ring', () => {
  for (const [name, { rule: named, optimiser }] of Object.entries(RULES))
    it(`end with the bits of the sharded exchange: ${name}`, () => {
      for (const { hosts, summing, capacities } of WAYS) {
        const [sharded] = train(hosts, named, { optimiser })
        for (const ruleAt of ['all', 'owners'] as const) {
          const found = train(hosts, named, { ...summing, ruleAt, optimiser, ...(capacities && { capacities }) })
          for (const central of found)
            expect(central.equals(sharded!), `${hosts} hosts, ${JSON.stringify(summing)}, ${ruleAt}`).to.equal(true)
        }
      }
    })

  it('end with these bits where the hosts of a whole rack have no learners', () => {
    for (const learners of [1, 2, 3]) {
      const [sharded] = train(4, { name: 'ssgd' }, { learners })
      for (const racks of [
        [
          [0, 1],
          [2, 3]
        ],
        [[0], [1], [2, 3]]
      ])
        // prettier-ignore
        for (const central of train(4, { name: 'ssgd' }, { learners, exchange: 'racks', racks }))
          expect(central.equals(sharded!), `${learners} learners`).to.equal(true)
    }
  })

  for (const lost of [0, 1, 2, 3])
    it(`go on without host ${lost}, with one central model`, () => {
      for (const racks of [
        [
          [0, 1],
          [2, 3]
        ],
        [[0], [1, 2], [3]]
      ]) {
        // prettier-ignore
        const run = new HostsRun(training(true), rule({ name: 'ssgd' }, 4), 4, 1, { shrinks: true, exchange: 'racks', racks }).add(4).lift()
        run.iterate(3, 1)
        for (const each of run.runs) each.compute(0)
        engine.abortHosts(run.links[lost]!, 1)
        const left = run.runs.filter((_, host) => host !== lost)
        for (const each of left) each.finish(0)
        for (const { group } of left) engine.setPause(group, 12)
        expect([...run.runToRest(left)]).to.deep.equal(['paused'])
        for (const { group } of left) expect(engine.groupStatus(group)).to.include({ round: 12, iterations: 12 })
        const [first, ...others] = left.map((each) => Buffer.from(each.central().buffer))
        for (const other of others) expect(other.equals(first!)).to.equal(true)
        run.release()
      }
    })

  for (const [ruleAt, shrinks] of [
    ['all', false],
    ['owners', true]
  ] as const)
    it(`fail on all hosts if one of them goes and they cannot go on: rule at ${ruleAt}`, async () => {
      const run = new HostsRun(training(true), rule({ name: 'ssgd' }, 3), 3, 1, { ruleAt, shrinks, exchange: 'ring' }).add(3).lift()
      run.iterate(3, 1)
      engine.abortHosts(run.links[1]!, 1)
      for (const host of [0, 2]) {
        const goOn = () => {
          for (let t = 0; t < 20; t++) run.runs[host]!.segment(0, t % 2 === 0 ? 'load' : 'update', { milliseconds: 1000 })
        }
        await refused('HOST_LOST', goOn, 'it has gone')
      }
      run.release()
    })

  it('are refused with racks that are not all hosts in their order, with chunks without an owner in each, and on devices with memories of their own', async () => {
    const { program, initial, dataset } = training()
    const hosts = joined(3)
    const how = rule({ name: 'ssgd' }, 3)
    const level = levelOf(hosts[0]!, 3, program, how, { exchange: 'racks', racks: [[0, 1], [2]] }) as Extract<LevelSpec, { kind: 'hosts' }>
    const make = (change: object) => () => new GroupRun(program, dataset, { initial, rule: how, levels: [{ ...level, ...change }] })
    for (const racks of [
      [[0, 2], [1]],
      [[0, 1]],
      [[0, 1], [], [2]],
      [
        [0, 1],
        [2, 3]
      ]
    ])
      // prettier-ignore
      await refused('INVALID_OPTION', make({ racks }), 'racks', 'each once')
    await refused('INVALID_OPTION', make({ racks: [[0], [1], [2]] }), 'chunks', 'received owners in 2 racks')
    const moved = level.chunks.map((chunk) => ({ ...chunk, relays: [2] }))
    await refused('INVALID_OPTION', make({ chunks: moved }), 'chunks', 'received the host 2; give one of 0, 1, which are in rack 0')
    const gpu = training(false, OPTIMISER, 'cuda-host')
    const made = () => void new HostsRun(gpu, how, 2, 1, { exchange: 'ring' })
    await refused('INVALID_OPTION', made, 'racks', 'chooses its ways by itself')
    for (const handle of hosts) engine.release(handle)
  })
})

describe('The measurement of the links between hosts', () => {
  const figuresOf = async (measurement: Handle): Promise<LinkFigures> => {
    for (;;) {
      const figures = engine.linkFigures(measurement)
      if (figures) return figures
      await sleep(2)
    }
  }

  for (const [size, distances] of [
    [2, [1]],
    [4, [1, 2, 3]],
    [12, [1, 2, 4, 8, 6]]
  ] as const)
    it(`has the same figures on each of ${size} hosts, within a second, and leaves the link to others`, async () => {
      const hosts = joined(size)
      const begin = performance.now()
      const measurements = hosts.map((handle) => engine.measureLinks(handle))
      const [first, ...others] = await Promise.all(measurements.map(figuresOf))
      // Hosts of a busy machine share its cores.
      expect(performance.now() - begin).below(10_000)
      for (const other of others) expect(other).to.deep.equal(first)
      expect(first!.turns.map(({ distance }) => distance)).to.deep.equal(distances.slice(0, first!.turns.length))
      for (const rates of [first!.latency, first!.secondsPerByte, ...first!.turns.map(({ bytesPerSecond }) => bytesPerSecond)]) {
        expect(rates).to.have.length(size)
        for (const rate of rates) expect(rate).above(0)
      }
      for (const handle of measurements) engine.release(handle)
      for (const handle of hosts) engine.release(handle)
    })

  it('ends with the loss of a host, and when it is released', async () => {
    const hosts = joined(3)
    const measurements = hosts.slice(0, 2).map((handle) => engine.measureLinks(handle))
    await sleep(20)
    expect(engine.linkFigures(measurements[0]!)).to.equal(null)
    engine.release(measurements[1]!)
    engine.abortHosts(hosts[2]!, 1)
    await refused('HOST_LOST', () => figuresOf(measurements[0]!))
    engine.release(measurements[0]!)
    for (const handle of hosts) engine.release(handle)
  })
})
