import { expect } from 'chai'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OptimiserAttributes } from '../../src/compiler/optimiser.js'
import type { EvaluationAverage, Handle, LevelSpec, SnapshotContents } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import type { NamedRule } from '../../src/rules/rules.js'
import { addStates, ownedStates } from '../../src/run/hosts/owned-states.js'
import { refused } from '../support/codes.js'
import { ifSeldom, seldom } from '../support/seldom.js'
import { skip } from '../support/skip.js'
import { GroupRun, type GroupPlan } from './support/group-run.js'
import { HostsRun, joined, levelOf, training } from './support/hosts-run.js'
import { DEVICES } from './support/level-cases.js'
import { CASES, OPTIMISER, rule } from './support/rule-pair.js'
import { largestDifference } from './support/small-training.js'

/** The same learners on the devices of one process. */
function onDevices(
  { program, initial, dataset }: ReturnType<typeof training>,
  how: GroupPlan['rule'],
  devices: number,
  learners: number,
  iterations: number
): GroupRun {
  const run = new GroupRun(program, dataset, { initial, rule: how, devices, levels: [DEVICES] })
  for (let j = 0; j < learners; j++) run.add(j)
  const { period } = how as { period: number }
  for (let t = 1; t <= iterations; t++) {
    for (const step of ['compute', 'finish'] as const) for (const learner of run.replicas.keys()) run[step](learner)
    if (t % period === 0) run.reached(t / period)
  }
  return run
}

/** Rules that owners of chunks apply: those with states of their own, and one without. */
const OWNED: Record<string, { rule: NamedRule; optimiser?: OptimiserAttributes; average?: EvaluationAverage }> = {
  'ssgd with Adam': { rule: { name: 'ssgd' }, optimiser: { name: 'adam', weightDecay: 1e-3 } },
  sma: { rule: { name: 'sma', syncMomentum: 0.3 } },
  'sma, evaluated as an average': { rule: { name: 'sma' }, average: { kind: 'ema', decay: 0.5, from: 0, every: 16 } },
  'polyak-ruppert': { rule: { name: 'polyak-ruppert', period: 3 } },
  diloco: { rule: { name: 'diloco', period: 3 } },
  ...(seldom.tested && {
    'ssgd with momentum': { rule: { name: 'ssgd' } },
    'local SGD': { rule: { name: 'local-sgd', period: 3 } },
    slowmo: { rule: { name: 'slowmo', period: 2 } }
  })
}
const STATES = ['central.velocity', 'central.firstMoment', 'central.secondMoment']

/** The group of one host with the states of all, as a checkpoint has it. */
function wholeSnapshot(run: HostsRun): SnapshotContents {
  const snapshots = run.runs.map(({ group }) => engine.captureGroup(group))
  const [own, ...others] = snapshots
  addStates(
    engine,
    own!,
    others.map((each) => new Map(ownedStates(engine, each).map((name) => [name, new Uint8Array(engine.readSnapshot(each, name).buffer)])))
  )
  const { vectors, counts } = engine.snapshotParts(own!)
  const found = { counts, vectors: Object.fromEntries(vectors.map((name) => [name, engine.readSnapshot(own!, name)])) }
  for (const snapshot of snapshots) engine.release(snapshot)
  return found
}

/** How often the threads of the hosts of this process have been given a processor. */
function turnsOfHosts(): number {
  const tasks = readdirSync('/proc/self/task').map((task) => `/proc/self/task/${task}`)
  const hosts = tasks.filter((task) => readFileSync(`${task}/comm`, 'utf8') === 'arbalest-hosts\n')
  return hosts.reduce((turns, task) => turns + Number(readFileSync(`${task}/schedstat`, 'utf8').trim().split(' ')[2]), 0)
}

describe('A group over hosts whose owners of chunks apply the rule', () => {
  for (const [name, { rule: named, optimiser, average }] of Object.entries(OWNED))
    it(`ends with the bits of one in which every host does, with all that it goes on from: ${name}`, () => {
      for (const [hosts, devices] of [
        [3, 1],
        [2, 2]
      ] as const) {
        const what = training(true, optimiser)
        const how = rule(named, 4)
        const ends = (['all', 'owners'] as const).map((ruleAt) => {
          const run = new HostsRun(what, how, hosts, devices, { ruleAt, ...(average && { average }) }).add(4).lift()
          for (const { group } of run.runs) engine.setPause(group, 4)
          run.runToRest()
          const centrals = run.centrals()
          const parts = run.runs.map((each) => each.captureGroup().vectors)
          const found = { centrals, parts, snapshot: ruleAt === 'owners' ? wholeSnapshot(run) : run.runs[0]!.captureGroup() }
          run.release()
          return found
        })
        const [all, owners] = ends
        for (const found of owners!.centrals) expect(found.equals(all!.centrals[0]!), `${hosts} hosts`).to.equal(true)
        expect(largestDifference(owners!.snapshot.vectors['central']!, what.initial)).above(1e-3)
        expect(Object.keys(owners!.snapshot.vectors)).to.deep.equal(Object.keys(all!.snapshot.vectors))
        for (const [vector, values] of Object.entries(all!.snapshot.vectors))
          expect(Buffer.from(owners!.snapshot.vectors[vector]!.buffer).equals(Buffer.from(values.buffer)), vector).to.equal(true)
        // No number of a state is kept by two hosts, and each keeps about as many.
        for (const state of STATES) {
          const kept = owners!.parts.map((vectors) => Array.from(vectors[state] ?? [], (value) => value !== 0))
          const counts = kept.map((each) => each.filter(Boolean).length)
          if (kept[0]!.length === 0) continue
          expect(
            kept[0]!.some((_, i) => kept.filter((each) => each[i]).length > 1),
            state
          ).to.equal(false)
          expect(Math.max(...counts) / Math.min(...counts)).below(1.3)
        }
      }
    })

  it('goes on from a snapshot as one that was never interrupted', () => {
    const what = training(true)
    const how = rule({ name: 'ssgd' }, 3)
    const make = () => new HostsRun(what, how, 3, 1, { ruleAt: 'owners' })
    const whole = make().add(3).lift()
    whole.iterate(8, 1)
    const first = make().add(3).lift()
    for (const { group } of first.runs) engine.setPause(group, 5)
    first.runToRest()
    const snapshot = wholeSnapshot(first)
    const learners = first.runs.map((run) => run.capture(0))
    const second = make()
    for (const [host, run] of second.runs.entries()) {
      engine.restoreGroup(run.group, snapshot)
      run.add(0, learners[host])
    }
    second.lift()
    second.iterate(3, 1, 5)
    for (const found of second.centrals()) expect(found.equals(whole.centrals()[0]!)).to.equal(true)
    for (const run of [whole, first, second]) run.release()
  })

  it('has the same bits where one host owns all chunks and has no learners, as a central hub does', () => {
    const what = training(true)
    const how = rule({ name: 'ssgd' }, 2)
    const [equal, hub] = [
      [1, 1, 1],
      [0, 0, 1]
    ].map((capacities) => {
      const run = new HostsRun(what, how, 3, 1, { ruleAt: 'owners', capacities }).add(2).lift()
      run.iterate(6, 1)
      const centrals = run.centrals()
      run.release()
      return centrals
    })
    for (const found of [...equal!, ...hub!]) expect(found.equals(equal![0]!)).to.equal(true)
    expect(hub![0]!.equals(Buffer.from(what.initial.buffer))).to.equal(false)
  })

  it('fails on the hosts that are left if one of them goes: the states of its chunks are lost', async () => {
    const run = new HostsRun(training(true), rule({ name: 'ssgd' }, 3), 3, 1, { ruleAt: 'owners', shrinks: true }).add(3).lift()
    run.iterate(3, 1)
    engine.abortHosts(run.links[1]!, 1)
    const goOn = () => {
      for (let t = 0; t < 10; t++) run.runs[0]!.segment(0, t % 2 === 0 ? 'load' : 'update', { milliseconds: 1000 })
    }
    await refused('HOST_LOST', goOn, 'host 1')
    run.release()
  })

  it('is refused where a step needs the norm of the whole gradient, and chunks that leave gaps are', async () => {
    for (const optimiser of [
      { momentum: 0.9, clipNorm: 1 },
      { name: 'lars', momentum: 0.9 }
    ] as const) {
      const { program, initial, dataset } = training(false, optimiser)
      const [hosts, other] = joined(2)
      const how = rule({ name: 'ssgd' }, 2)
      const level = levelOf(hosts!, 2, program, how, { ruleAt: 'owners' }) as Extract<LevelSpec, { kind: 'hosts' }>
      const make = (levels: LevelSpec[]) => () => new GroupRun(program, dataset, { initial, rule: how, levels })
      await refused('INVALID_OPTION', make([level]), 'ruleAt', 'norm')
      await refused('INVALID_OPTION', make([{ ...level, ruleAt: 'all', chunks: level.chunks.slice(1) }]), 'chunks', 'next')
      await refused(
        'INVALID_OPTION',
        make([{ ...level, ruleAt: 'all', chunks: [...level.chunks, level.chunks[0]!] }]),
        'chunks',
        'leave it out'
      )
      await refused(
        'INVALID_OPTION',
        make([{ ...level, ruleAt: 'all', chunks: level.chunks.map((each) => ({ ...each, host: 2 })) }]),
        'chunks',
        'host 2'
      )
      for (const handle of [hosts!, other!]) engine.release(handle)
    }
  })
})

describe('A group over hosts', () => {
  for (const [name, each] of Object.entries(CASES)) {
    if (each.levels === false || each.hosts === false) continue
    it(`ends with the bits of as many devices of one process: ${name}`, () => {
      for (const [hosts, learners] of [
        [2, 4],
        [2, 3],
        [3, 3]
      ] as const)
        for (const period of each.periods ?? [1, 3]) {
          const what = training()
          const how = rule(each.options(period), learners)
          const run = new HostsRun(what, how, hosts).add(learners).lift()
          run.iterate(12 * period, period)
          const plain = onDevices(what, how, hosts, learners, 12 * period)
          const central = Buffer.from(plain.central().buffer)
          for (const found of run.centrals()) expect(found.equals(central), `${hosts} hosts, period ${period}`).to.equal(true)
          expect(largestDifference(plain.central(), what.initial)).above(1e-3)
          plain.release()
          run.release()
        }
    })
  }

  for (const name of ['ssgd', 'sma', 'slowmo'] as const)
    it(`sums several buckets, each with an owner: ${name}`, () => {
      const what = training(true)
      const how = rule(name === 'slowmo' ? { name, period: 1 } : { name }, 4)
      const run = new HostsRun(what, how, 2).add(4).lift()
      run.iterate(3, 1)
      const plain = onDevices(what, how, 2, 4, 3)
      for (const found of run.centrals()) expect(found.equals(Buffer.from(plain.central().buffer))).to.equal(true)
      plain.release()
      run.release()
    })

  it('lets a learner be slack iterations ahead of those of other hosts, and no more, with the bits of one process', () => {
    const slack = 3
    const what = training()
    const how = rule({ name: 'parameter-server', slack }, 3)
    const run = new HostsRun(what, how, 3).add(3).lift()
    const [ahead, ...others] = run.runs
    const { replica, slot } = ahead!.replicas.get(0)!
    const step = (milliseconds: number) => engine.run(replica, slot, { steps: 1, milliseconds }).outcome
    for (let c = 0; c <= slack; c++) expect(step(20_000), `iteration ${c}`).to.equal('ran')
    expect(step(50)).to.equal('waiting')
    for (const { group } of run.runs) engine.setPause(group, 12)
    expect([...run.runToRest([...others, ahead!])]).to.deep.equal(['paused'])
    const { round } = engine.groupStatus(ahead!.group)
    const plain = onDevices(what, how, 3, 3, round)
    for (const found of run.centrals()) expect(found.equals(Buffer.from(plain.central().buffer))).to.equal(true)
    plain.release()
    run.release()
  })

  it('counts a learner that has joined after a rest was agreed on from that rest on, also with slack', () => {
    const [slack, rest] = [3, 12]
    const run = new HostsRun(training(), rule({ name: 'parameter-server', slack }, 2), 2).add(2).lift()
    for (const { group } of run.runs) engine.setPause(group, rest)
    run.iterate(rest - 1, 1)
    // Its messages hold from a round behind the rest on.
    run.runs[1]!.add(1)
    expect([...run.runToRest()]).to.deep.equal(['paused'])
    for (const { group } of run.runs) expect(engine.groupStatus(group)).to.include({ round: rest, position: rest * 2 * 4 })
    run.lift().iterate(slack + 2, 1)
    for (const each of run.runs) each.reached(rest + slack + 2)
    const position = rest * 2 * 4 + (slack + 2) * 3 * 4
    for (const { group } of run.runs) expect(engine.groupStatus(group)).to.include({ round: rest + slack + 2, position })
    run.release()
  })

  it('goes on without a host that is lost while others are ahead of it', () => {
    const run = new HostsRun(training(), rule({ name: 'parameter-server', slack: 2 }, 3), 3, 1, { shrinks: true }).add(3).lift()
    run.iterate(3, 1)
    const { replica, slot } = run.runs[0]!.replicas.get(0)!
    expect(engine.run(replica, slot, { steps: 1, milliseconds: 20_000 }).outcome).to.equal('ran')
    engine.abortHosts(run.links[2]!, 1)
    const left = run.runs.slice(0, 2)
    for (const { group } of left) engine.setPause(group, 14)
    expect([...run.runToRest(left)]).to.deep.equal(['paused'])
    const [first, second] = left.map((each) => Buffer.from(each.central().buffer))
    expect(first!.equals(second!)).to.equal(true)
    run.release()
  })

  it('is refused where learners read their own updates before others do, which no checkpoint has of all hosts', async () => {
    const how = rule({ name: 'parameter-server', slack: 1, apply: 'updates' }, 2)
    await refused('INVALID_OPTION', () => new HostsRun(training(), how, 2), 'readMyWrites', 'slack 1')
  })

  it('has a level of devices in each host', () => {
    const run = new HostsRun(training(), rule({ name: 'sma' }, 4), 2, 2).add(4).lift()
    run.iterate(8, 1)
    const [first, second] = run.centrals()
    expect(first!.equals(second!)).to.equal(true)
    for (const { group } of run.runs) expect(engine.groupStatus(group)).to.include({ round: 8, position: 8 * 4 * 4 })
    run.release()
  })

  for (const name of ['ssgd' as const, 'slowmo' as const, ...ifSeldom('sma' as const, 'local-sgd' as const)])
    it(`has one collective over all devices with memories of their own: ${name}`, () => {
      const what = training(true, OPTIMISER, 'cuda-host')
      const period = name === 'ssgd' ? 1 : 2
      const how = rule(name === 'ssgd' ? { name } : { name, period }, 4)
      for (const devices of [1, 2]) {
        const run = new HostsRun(what, how, 2, devices).add(4).lift()
        run.iterate(3 * period, period)
        const plain = onDevices(what, how, 2 * devices, 4, 3 * period)
        const centrals = run.runs.map((each) => each.central())
        // On two devices a host, learner 2 comes before learner 1 in the sum.
        if (devices === 1) expect(centrals[0]).to.deep.equal(plain.central())
        expect(largestDifference(centrals[0]!, plain.central())).below(1e-6)
        expect(centrals[1]).to.deep.equal(centrals[0])
        plain.release()
        run.release()
      }
    })

  for (const backend of ['cpu', 'cuda-host'] as const)
    it(`goes on where a host has no learners, or has lost them: ${backend}`, () => {
      const what = training(false, OPTIMISER, backend)
      const how = rule({ name: 'slowmo', period: 1 }, 2)
      const run = new HostsRun(what, how, 2)
      for (const learner of [0, 1]) run.runs[0]!.add(learner)
      run.runs[1]!.add(0)
      run.lift()
      run.iterate(5, 1)
      engine.evict(run.runs[1]!.group, 0)
      run.runs[1]!.replicas.delete(0)
      run.iterate(5, 1)
      const [first, second] = run.centrals()
      expect(first!.equals(second!)).to.equal(true)
      expect(engine.groupStatus(run.runs[1]!.group)).to.include({ round: 10 })
      run.release()
    })

  // Each poll takes a core from a learner for a moment: at a pause of 1 ms, that of a host that waits, they are nearly a thousand.
  it('looks for messages that nobody waits for less than 500 times a second', async function () {
    if (process.platform !== 'linux') skip(this, 'the system does not count the turns of threads')
    const run = new HostsRun(training(), rule({ name: 'sma' }, 2), 2)
    run.add(2).lift()
    run.iterate(3, 1)
    await sleep(50)
    const before = turnsOfHosts()
    await sleep(500)
    const turns = turnsOfHosts() - before
    run.iterate(3, 1)
    expect(run.centrals()[0]!.equals(run.centrals()[1]!)).to.equal(true)
    run.release()
    expect(turns / 0.5 / 2).to.be.within(1, 500)
  })

  it('rests at a round that all hosts agree on, closes it with all losses, and goes on once all have lifted the pause', () => {
    const what = training()
    const how = rule({ name: 'sma', period: 2 }, 4)
    const run = new HostsRun(what, how, 2).add(4).lift()
    run.iterate(6, 2)
    engine.setPause(run.runs[1]!.group, 4)
    expect([...run.runToRest()]).to.deep.equal(['paused'])
    const [first, second] = run.runs.map(({ group }) => engine.groupStatus(group))
    expect(first!.round).within(4, 7)
    expect(second).to.include({ round: first!.round, iterations: 2 * first!.round, position: first!.position })
    expect(first).to.include({ iterations: 2 * first!.round, position: 2 * first!.round * 4 * 4 })
    const losses = run.runs.map(({ group }) => Array.from(engine.losses(group, 0)))
    expect(losses[0]).to.have.length(2 * first!.round)
    losses[0]!.forEach((loss, i) => expect(losses[1]![i]).closeTo(loss, 1e-6))
    for (const each of run.runs) each.captureGroup()
    const [one, other] = run.runs
    engine.setPause(one!.group, Infinity)
    expect(one!.segment(0, 'load', { milliseconds: 20 })).to.equal('waiting')
    engine.setPause(other!.group, Infinity)
    const end = 2 * first!.round + 6
    for (const { group } of run.runs) engine.setPause(group, first!.round + 3)
    expect([...run.runToRest()]).to.deep.equal(['paused'])
    const plain = onDevices(what, how, 2, 4, end)
    for (const found of run.centrals()) expect(found.equals(Buffer.from(plain.central().buffer))).to.equal(true)
    for (const { group } of run.runs) expect(engine.groupStatus(group)).to.include({ round: first!.round + 3, iterations: end })
    run.release()
  })

  it('ends at an iteration, within a period too', () => {
    const run = new HostsRun(training(), rule({ name: 'local-sgd', period: 4 }, 2), 2).add(2)
    for (const { group } of run.runs) engine.setEnd(group, 10)
    run.lift()
    expect([...run.runToRest()]).to.deep.equal(['paused'])
    for (const { group } of run.runs) expect(engine.groupStatus(group)).to.include({ round: 3, iterations: 10 })
    run.release()
  })

  it('stops on all hosts if one of them stops', () => {
    const run = new HostsRun(training(), rule({ name: 'sma' }, 2), 2).add(2).lift()
    run.iterate(3, 1)
    engine.stop(run.runs[1]!.group)
    expect([...run.runToRest()]).to.deep.equal(['cancelled'])
    run.release()
  })

  // Where devices have memories of their own, not even hosts that could go on do so: their sums are those of one collective.
  for (const [backend, shrinks] of [
    ['cpu', false],
    ['cuda-host', false],
    ['cuda-host', true]
  ] as const)
    it(`fails on all hosts if one of them goes: ${backend}${shrinks ? ', although the link goes on' : ''}`, async () => {
      const run = new HostsRun(training(false, OPTIMISER, backend), rule({ name: 'sma' }, 2), 2, 1, { shrinks }).add(2).lift()
      run.iterate(3, 1)
      engine.abortHosts(run.links[1]!, 1)
      const goOn = () => {
        for (let t = 0; t < 20; t++) run.runs[0]!.segment(0, t % 2 === 0 ? 'load' : 'update', { milliseconds: 1000 })
      }
      await refused('HOST_LOST', goOn, 'host 1')
      run.release()
    })

  for (const [name, options] of Object.entries({
    sma: { name: 'sma' },
    ssgd: { name: 'ssgd' },
    slowmo: { name: 'slowmo', period: 2 }
  } as const))
    it(`goes on without a host that is lost, with one central model, position and losses: ${name}`, () => {
      const what = training(true)
      const how = rule(options, 6)
      const { period } = how as { period: number }
      const run = new HostsRun(what, how, 3, 1, { shrinks: true }).add(6).lift()
      run.iterate(4 * period, period)
      // Within a round: one of the learners that are left has brought its part of it, the others have not.
      run.runs[0]!.compute(0)
      run.runs[2]!.compute(0)
      engine.abortHosts(run.links[2]!, 1)
      run.runs[0]!.finish(0)
      const left = run.runs.slice(0, 2)
      for (const { group } of left) engine.setPause(group, 14)
      expect([...run.runToRest(left)]).to.deep.equal(['paused'])
      const [first, second] = left.map(({ group }) => engine.groupStatus(group))
      expect(second).to.include({ round: first!.round, iterations: first!.iterations, position: first!.position })
      expect(first).to.include({ round: 14, iterations: 14 * period })
      // The lost learners are counted in two rounds more at most.
      const rounds = first!.position / (4 * period)
      expect(rounds).within(14 * 4 + 4 * 2, 14 * 4 + 7 * 2)
      const [one, other] = left.map((each) => Buffer.from(each.central().buffer))
      expect(one!.equals(other!)).to.equal(true)
      const losses = left.map(({ group }) => Array.from(engine.losses(group, 0)))
      expect(losses[0]).to.have.length(14 * period)
      losses[0]!.forEach((loss, i) => expect(losses[1]![i]).closeTo(loss, 1e-6))
      run.release()
    })

  for (const [what, change] of Object.entries({
    'another rate': (group: Handle) => engine.setLearningRates(group, 5, Float32Array.of(0.5)),
    'another end': (group: Handle) => engine.setEnd(group, 50),
    'another momentum': (group: Handle) => engine.setRule(group, { momentum: 0.3 })
  }))
    it(`is refused at its opening where one host has ${what}`, async () => {
      const run = new HostsRun(training(), rule({ name: 'sma' }, 2), 2).add(2)
      change(run.runs[1]!.group)
      const begin = () => run.runs[0]!.segment(0, 'load', { milliseconds: 1000 })
      run.lift()
      await refused('HOSTS_DIFFER', begin, 'host 1', 'round 0')
      run.release()
    })

  it('rests before the very round that all hosts have set before it opens', () => {
    const run = new HostsRun(training(), rule({ name: 'sma' }, 2), 2).add(2)
    for (const round of [1, 2, 4]) {
      for (const { group } of run.runs) engine.setPause(group, round)
      expect([...run.runToRest()]).to.deep.equal(['paused'])
      for (const { group } of run.runs) expect(engine.groupStatus(group).round).to.equal(round)
    }
    run.release()
  })

  it('lets no owners apply the rule on devices with memories of their own', async () => {
    const what = training(false, OPTIMISER, 'cuda-host')
    const make = () => void new HostsRun(what, rule({ name: 'sma' }, 2), 2, 1, { ruleAt: 'owners' })
    await refused('INVALID_OPTION', make, 'levels', 'let every host apply it')
  })

  it('is refused under rules that do not meet at rounds, in lockstep, and below the devices', async () => {
    const { program, initial, dataset } = training()
    const [hosts, other] = joined(2)
    const level = levelOf(hosts!, 2, program, rule({ name: 'sma' }, 2))
    const make = (plan: Partial<GroupPlan>) => () =>
      new GroupRun(program, dataset, { initial, rule: rule({ name: 'sma' }, 2), levels: [level], ...plan })
    await refused('INVALID_OPTION', make({ rule: rule({ name: 'downpour' }, 2) }), 'levels', 'synchronous')
    await refused('INVALID_OPTION', make({ rule: rule({ name: 'sma', lockstep: true }, 2) }), 'levels', 'lockstep')
    await refused('INVALID_OPTION', make({ devices: 2, levels: [level, DEVICES] }), 'levels', 'last')
    await refused('INVALID_OPTION', make({ levels: [level, { kind: 'loopback', latency: 0 }] }), 'levels', 'at most')
    for (const handle of [hosts!, other!]) engine.release(handle)
  })
})
