import { expect } from 'chai'
import type { LevelSpec } from '../../src/engine/contract.js'
import type { NamedRule } from '../../src/rules/rules.js'
import { engine } from '../../src/engine/native.js'
import { defineModel, linear, relu } from '../../src/model/layers.js'
import { sharedClock } from '../../src/observe/trace-ring.js'
import { refused } from '../support/codes.js'
import { seldom } from '../support/seldom.js'
import { skip } from '../support/skip.js'
import { testedBackends } from './support/backends.js'
import { GroupRun, type GroupPlan } from './support/group-run.js'
import { DEVICES, expectEqualCopies, HOSTS, LEVELS, mostDevices, THREE, type Levels } from './support/level-cases.js'
import { CASES, expectPublication, FEW_ROUNDS, OPTIMISER, Pair, rule } from './support/rule-pair.js'
import { largestDifference, randomSamples, smallTraining } from './support/small-training.js'

/** What all backends can do in a test's time: a stand-in of a device is slow, and levels are the same code on the reference. */
const EXTENTS = {
  all: { levels: Object.keys(LEVELS), learners: [1, 2, 3, 5], rounds: FEW_ROUNDS },
  some: { levels: ['one device, hosts', 'two devices', 'hosts, two devices', 'three devices, hosts'], learners: [1, 5], rounds: 8 }
}

/** Where learners come and go. */
const CHANGING = ['two devices, hosts', 'three devices'] as const

for (const { name: backend } of testedBackends())
  describe(`levels on ${backend}`, () => {
    const most = mostDevices(backend)
    const onSeveral = (what: string, test: () => void | Promise<void>) =>
      it(what, function () {
        if (most < 2) skip(this, `it takes two GPUs, and this machine has ${most}`)
        return test()
      })
    const extent = EXTENTS[backend === 'cpu' || (backend === 'reference' && seldom.tested) ? 'all' : 'some']
    for (const [name, each] of Object.entries(CASES)) {
      if (each.levels === false) continue
      const period = Math.max(...(each.periods ?? [1, 3]))

      it(`${name} equals its publication over ${extent.rounds} rounds, whatever the levels`, () => {
        for (const what of extent.levels)
          for (const learners of extent.learners) {
            const levels = LEVELS[what]!
            if (levels.devices > most) continue
            const run = expectPublication(backend, each, { learners, period: 1, rounds: extent.rounds, levels })
            expectEqualCopies(run, levels.devices, `${what}, ${learners} learners`)
            run.release()
          }
      })

      onSeveral(`${name} equals its publication while learners of several devices join, are evicted and die`, () => {
        for (const levels of CHANGING.map((what) => LEVELS[what]!)) if (levels.devices <= most) change(levels)
      })

      const change = (levels: Levels) => {
        const pair = new Pair(backend, each, rule(each.options(period), 2), levels)
        const rounds = (count: number, what: string, dies?: number) => {
          for (let t = 0; t < count * period; t++) {
            const ends = t % period === period - 1
            pair.iterate(ends, `${what}, iteration ${t}`, ends ? dies : undefined)
            expectEqualCopies(pair.run, levels.devices, `${what}, iteration ${t}`)
          }
        }
        const evict = (learner: number) => {
          engine.evict(pair.run.group, learner)
          pair.plain.learners.delete(learner)
        }
        for (const j of [0, 1]) pair.join(j)
        // On two devices in turns, or on three.
        rounds(4, 'on two devices')
        for (const j of [2, 3]) pair.join(j)
        rounds(4, 'on all of them')
        rounds(1, 'one of four dies, of three the last of its device', 2)
        evict(0)
        rounds(4, 'two are left, of two the first device is empty')
        pair.join(4)
        rounds(4, 'three again')
        rounds(1, 'one of three dies, of two the last of its device', 4)
        evict(1)
        rounds(4, 'one is left')
        expect(engine.groupStatus(pair.run.group)).to.deep.include({ members: [3], round: 22 })
      }
    }

    for (const name of ['sma', 'ssgd', 'slowmo', 'polyak-ruppert'] as const)
      onSeveral(`${name} gives the same bits whatever the order of arrival and of levels`, () => {
        // Large enough for several buckets at once.
        const model = defineModel({ name: 'wide', input: [60], layers: [linear(700), relu(), linear(600), relu(), linear(5)] })
        const { program, initial } = smallTraining(backend, OPTIMISER, { batch: 1, model })
        const dataset = randomSamples(100, 60)
        const orders = [
          [0, 1, 2, 3, 4],
          [4, 3, 2, 1, 0],
          [1, 4, 0, 3, 2]
        ]
        const train = (order: readonly number[], levels: Partial<Levels>) => {
          const period = 2
          const named = (name === 'ssgd' ? { name } : { name, period }) as NamedRule
          const run = new GroupRun(program, dataset, { initial, rule: rule(named, 5), ...levels })
          for (const j of [0, 1, 2, 3, 4]) run.add(j)
          engine.setEnd(run.group, 4)
          // Whole steps in turns: gradients are handed over in the middle of backward.
          const deadline = performance.now() + 20_000
          while (engine.groupStatus(run.group).iterations < 4 && performance.now() < deadline)
            for (const j of order) {
              const { replica, slot } = run.replicas.get(j)!
              engine.run(replica, slot, { steps: 1, milliseconds: 0 })
            }
          run.reached(name === 'ssgd' ? 4 : 2)
          const central = run.central()
          run.release()
          return central
        }
        const flat = train(orders[0]!, {})
        const [first, ...others] = orders.map((order) => train(order, THREE))
        for (const other of others) expect(Buffer.from(other.buffer).equals(Buffer.from(first!.buffer))).to.equal(true)
        const other = train(orders[0]!, LEVELS['hosts, two devices']!)
        expect(Buffer.from(other.buffer).equals(Buffer.from(first!.buffer)), 'the other order of levels').to.equal(true)
        expect(largestDifference(first!, initial)).above(1e-3)
        expect(largestDifference(first!, flat)).below(1e-5)
      })

    for (const [what, optimiser] of Object.entries({
      Adam: { name: 'adam' },
      'clipped LARS': { name: 'lars', momentum: 0.9, trust: 0.02, clipNorm: 0.5 }
    } as const))
      onSeveral(`the optimiser of a group under ssgd is the same on every device: ${what}`, () => {
        const { program, initial } = smallTraining(backend, optimiser)
        const [levelled, flat] = [THREE, {}].map((levels) => {
          const run = new GroupRun(program, randomSamples(100), { initial, rule: rule({ name: 'ssgd' }, 3), ...levels }, { rate: 0.01 })
          for (const j of [0, 1, 2]) run.add(j)
          for (let t = 1; t <= 20; t++) {
            for (const j of [0, 1, 2]) run.compute(j)
            for (const j of [0, 1, 2]) run.finish(j)
            run.reached(t)
          }
          if ('devices' in levels) expectEqualCopies(run, 2, what)
          return run.central()
        })
        expect(largestDifference(levelled!, initial)).above(1e-3)
        expect(largestDifference(levelled!, flat!)).below(1e-5)
      })

    for (const [what, named] of Object.entries<NamedRule>({
      sma: { name: 'sma', syncMomentum: 0.3 },
      ssgd: { name: 'ssgd' },
      diloco: { name: 'diloco', period: 2 },
      'polyak-ruppert': { name: 'polyak-ruppert' }
    }))
      onSeveral(`a group of two devices that goes on from a snapshot equals one that was never interrupted, bit for bit: ${what}`, () => {
        const { program, initial } = smallTraining(backend, OPTIMISER)
        const how = rule(named, 3)
        const dataset = randomSamples(300)
        const iterate = (run: GroupRun, from: number, to: number) => {
          for (let round = from; round < to; round++) {
            for (let t = 0; t < how.period; t++)
              for (const step of ['compute', 'finish'] as const) for (const learner of run.replicas.keys()) run[step](learner)
            run.reached(round + 1)
          }
        }
        for (const average of [undefined, { kind: 'ema', decay: 0.9, from: 0, every: 1 } as const]) {
          const plan: GroupPlan = { initial, rule: how, ...(average && { average }), ...THREE }
          const whole = new GroupRun(program, dataset, plan)
          for (const learner of [0, 1, 2]) whole.add(learner)
          iterate(whole, 0, 5)
          const group = whole.captureGroup()
          const learners = [0, 1, 2].map((learner) => whole.capture(learner))
          iterate(whole, 5, 12)
          const resumed = new GroupRun(program, dataset, { ...plan, initial: new Float32Array(initial.length) })
          engine.restoreGroup(resumed.group, group)
          learners.forEach((contents, learner) => resumed.add(learner, contents))
          iterate(resumed, 5, 12)
          expect(resumed.central()).to.deep.equal(whole.central())
          for (const learner of [0, 1, 2]) expect(resumed.weights(learner)).to.deep.equal(whole.weights(learner))
          // With an average all devices read that.
          if (!average) for (const device of [0, 1]) expect(resumed.centralOn(device)).to.deep.equal(whole.centralOn(device))
        }
      })

    onSeveral('the next step goes on while a round is under way between the hosts', () => {
      const { program, initial } = smallTraining(backend, OPTIMISER)
      const seconds = 0.5
      const levels: Levels = { devices: 2, levels: [DEVICES, { kind: 'loopback', latency: seconds }] }
      const run = new GroupRun(program, randomSamples(100), { initial, rule: rule({ name: 'sma' }, 2), ...levels })
      for (const j of [0, 1]) run.add(j)
      engine.averagingSpans(run.group)
      const start = sharedClock()
      for (const j of [0, 1]) run.compute(j)
      for (const j of [0, 1]) run.finish(j)
      // Their corrections are made, and so is the next gradient; only the next correction needs the round.
      for (const j of [0, 1]) run.compute(j)
      expect(engine.groupStatus(run.group)).to.include({ round: 0, iterations: 1 })
      expect(run.segment(0, 'update', { milliseconds: 1 })).to.equal('waiting')
      expect(sharedClock() - start).below(1000 * seconds)
      run.reached(1)
      expect(sharedClock() - start).above(1000 * seconds)
      const numbers = engine.averagingSpans(run.group)
      const spans = Array.from({ length: numbers.length / 4 }, (_, i) => numbers.slice(4 * i, 4 * i + 4))
      // The rule has its own on the CPU, after all levels.
      const ofTheRule = spans.filter(([level]) => level === -1)
      const [devices = [], hosts = [], ...others] = spans.filter(([level]) => level! >= 0)
      expect(others).to.be.empty
      for (const [, round, from] of ofTheRule) expect([round, from! >= hosts[3]!]).to.deep.equal([0, true])
      expect(ofTheRule).to.have.length(backend === 'cuda-host' ? 0 : 1)
      expect([devices[0], devices[1], hosts[0], hosts[1]]).to.deep.equal([0, 0, 1, 0])
      // They end where the next level begins, by the clock that all threads share.
      expect(1000 * devices[2]!).within(start, 1000 * devices[3]!)
      expect(hosts[2]!).within(devices[3]!, devices[3]! + seconds)
      expect(hosts[3]! - hosts[2]!).within(0.99 * seconds, 4 * seconds)
      for (const j of [0, 1]) expect(run.segment(j, 'update', { milliseconds: 1 })).to.equal('ran')
    })

    it('a rated link takes the time of its rate, and groups that send at once share it', async () => {
      const { program, initial } = smallTraining(backend, OPTIMISER)
      const bytes = program.parameters.bytes
      const seconds = 0.2
      const link = engine.createRatedLink({ bytesPerSecond: bytes / seconds, latency: 0.05 })
      const runs = [0, 1].map(() => {
        const levels: LevelSpec[] = [{ kind: 'loopback', link }]
        return new GroupRun(program, randomSamples(100), { initial, rule: rule({ name: 'sma' }, 1), levels }).add(0)
      })
      const take = (sent: readonly GroupRun[]): number => {
        const start = performance.now()
        const whole = sent.map((run) => engine.groupStatus(run.group).round + 1)
        for (const run of sent) {
          run.compute(0)
          run.finish(0)
        }
        for (const [i, run] of sent.entries()) run.reached(whole[i]!)
        return (performance.now() - start) / 1000
      }
      // The latency is that of the last byte, not of each part of the rate.
      expect(take(runs.slice(1))).above(seconds + 0.05)
      expect(take(runs)).above(0.99 * (2 * seconds + 0.05))
      for (const run of runs) run.release()
      engine.release(link)
      await refused('INVALID_OPTION', () => engine.createRatedLink({ bytesPerSecond: 0, latency: 0 }), 'bytesPerSecond', 'received 0')
      await refused('INVALID_OPTION', () => engine.createRatedLink({ bytesPerSecond: 1e6, latency: 61 }), 'latency', '61')
    })

    onSeveral('whatever is under way is given up with its group', () => {
      const { program, initial } = smallTraining(backend, OPTIMISER)
      const levels: Levels = { devices: 2, levels: [DEVICES, { kind: 'loopback', latency: 60 }] }
      const run = new GroupRun(program, randomSamples(100), { initial, rule: rule({ name: 'sma' }, 2), ...levels })
      for (const j of [0, 1]) run.add(j)
      for (const j of [0, 1]) run.compute(j)
      for (const j of [0, 1]) run.finish(j)
      const start = performance.now()
      engine.stop(run.group)
      expect(run.segment(0, 'load', { milliseconds: 1000 })).to.equal('cancelled')
      run.release()
      expect(performance.now() - start).below(5000)
    })

    onSeveral('devices and levels that make no sum are refused', async () => {
      const { program, initial } = smallTraining(backend, OPTIMISER)
      const make = (plan: Partial<GroupPlan>) => () =>
        new GroupRun(program, randomSamples(20), { initial, rule: rule({ name: 'sma' }, 2), ...plan })
      await refused('INVALID_OPTION', make({ devices: 0 }), 'devices', '0')
      await refused('INVALID_OPTION', make({ devices: 2 }), 'levels', 'give one')
      await refused('INVALID_OPTION', make({ devices: 2, levels: [DEVICES, DEVICES] }), 'levels', 'received 2', 'give one')
      await refused('INVALID_OPTION', make({ levels: [DEVICES] }), 'levels', 'leave it out')
      await refused('INVALID_OPTION', make({ levels: [HOSTS, HOSTS] }), 'levels', 'at most')
      await refused('INVALID_OPTION', make({ levels: [{ kind: 'loopback', latency: -1 }] }), 'latency', '-1')
      if (!backend.startsWith('cuda'))
        await refused('INVALID_OPTION', make({ ...THREE, rule: rule({ name: 'downpour' }, 2) }), 'levels', 'synchronous')
      await refused('INVALID_OPTION', make({ ...THREE, rule: rule({ name: 'sma', lockstep: true }, 2) }), 'levels', 'lockstep')
      const run = make(THREE)()
      await refused('INVALID_OPTION', () => engine.join(run.group, 0, false, 2), 'device', '2')
    })

    // The CPU's devices are cores, which have one memory, and whose work is done when a call returns.
    const onStreams = backend.startsWith('cuda') ? onSeveral : () => {}
    onStreams('copies that are still queued are done before their memory is given back', () => {
      const model = defineModel({ name: 'wide', input: [12], layers: [linear(100_000), relu(), linear(5)] })
      const { program, initial } = smallTraining(backend, OPTIMISER, { model })
      const levels: Levels = { devices: 2, levels: [DEVICES, { kind: 'loopback', latency: 60 }] }
      const run = new GroupRun(program, randomSamples(100), { initial, rule: rule({ name: 'sma' }, 2), ...levels })
      for (const j of [0, 1]) run.add(j)
      for (const j of [0, 1]) run.compute(j)
      for (const j of [0, 1]) run.finish(j)
      engine.stop(run.group)
      run.release()
    })

    onStreams('a learner meets its group on the device where its replica lies', async () => {
      const { program, initial } = smallTraining(backend, OPTIMISER)
      const run = new GroupRun(program, randomSamples(100), { initial, rule: rule({ name: 'sma' }, 2), ...THREE })
      run.add(0)
      engine.evict(run.group, 0)
      engine.join(run.group, 0, false, 1)
      await refused('INVALID_STATE', () => run.compute(0), 'on device 1', 'create the replica')
    })

    onSeveral('the speed of a level can be measured', () => {
      const bytes = 2 ** 20
      const fast = engine.timeLevel(backend, DEVICES, 2, bytes, 3)
      expect(fast).to.have.length(3)
      for (const seconds of fast) expect((2 * bytes) / seconds).within(1e6, 1e13)
      // In several buckets, which are under way at once.
      const slow = engine.timeLevel(backend, { kind: 'loopback', latency: 0.02 }, 2, 8 * bytes, 1)
      expect((16 * bytes) / slow[0]!).within(1e6, (16 * bytes) / 0.02)
    })
  })
