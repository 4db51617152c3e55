import { expect } from 'chai'
import { engine } from '../../src/engine/native.js'
import { defineModel, linear, relu } from '../../src/model/layers.js'
import { testedBackends } from './support/backends.js'
import { GroupRun } from './support/group-run.js'
import { CASES, expectPublication, FEW_ROUNDS, OPTIMISER, Pair, rule } from './support/rule-pair.js'
import { largestDifference, randomSamples, smallTraining } from './support/small-training.js'

for (const { name: backend } of testedBackends())
  describe(`synchronous rules on ${backend}`, () => {
    for (const [name, each] of Object.entries(CASES)) {
      it(`${name} equals its publication, over ${FEW_ROUNDS} rounds`, () => {
        for (const learners of [1, 2, 3, 5])
          for (const period of each.periods ?? [1, 3]) expectPublication(backend, each, { learners, period, rounds: FEW_ROUNDS }).release()
      })

      it(`${name} equals its publication while learners join, are evicted and die`, () => {
        const period = Math.max(...(each.periods ?? [1, 3]))
        const pair = new Pair(backend, each, rule(each.options(period), 2))
        const round = (what: string, dies?: number) => {
          // Who dies does so in the last iteration of a round, where it is waited for.
          for (let t = 0; t < period; t++) pair.iterate(t === period - 1, what, t === period - 1 ? dies : undefined)
        }
        for (const j of [0, 1]) pair.join(j)
        for (let t = 0; t < 5; t++) round(`two, round ${t}`)
        pair.join(2)
        pair.join(3)
        for (let t = 0; t < 5; t++) round(`four, round ${t}`)
        engine.evict(pair.run.group, 1)
        pair.plain.learners.delete(1)
        for (let t = 0; t < 5; t++) round(`three, round ${t}`)
        round('one dies', 2)
        for (let t = 0; t < 5; t++) round(`the two that are left, round ${t}`)
        expect(engine.groupStatus(pair.run.group)).to.deep.include({ members: [0, 3], round: 21 })
      })
    }

    for (const [what, optimiser] of Object.entries({
      'Nesterov momentum': { ...OPTIMISER, nesterov: true },
      Adam: { name: 'adam', weightDecay: 1e-3 },
      RMSprop: { name: 'rmsprop', weightDecay: 1e-3 },
      'RMSprop with momentum': { name: 'rmsprop', momentum: 0.9 },
      'clipped LARS': { name: 'lars', momentum: 0.9, trust: 0.02, clipNorm: 0.5 }
    } as const))
      it(`sma in lockstep gives what sma gives, with ${what} and frozen parameters`, () => {
        // More learners than one launch takes on a device.
        const k = 35
        const layers = [linear(16, { frozen: true }), relu(), linear(9), relu(), linear(5)]
        const { program, initial } = smallTraining(backend, optimiser, { model: defineModel({ name: 'frozen', input: [12], layers }) })
        const [together, apart] = [true, false].map((lockstep) => {
          const run = new GroupRun(program, randomSamples(100), {
            initial,
            rule: rule({ name: 'sma', period: 2, syncMomentum: 0.3, lockstep }, k)
          })
          for (let j = 0; j < k; j++) run.add(j)
          for (let t = 0; t < 8; t++) for (const step of ['compute', 'finish'] as const) for (const j of run.replicas.keys()) run[step](j)
          return [run.central(), ...[0, k - 1].map((j) => run.weights(j))]
        })
        expect(largestDifference(together![0]!, initial)).above(1e-3)
        together!.forEach((vector, i) => expect(largestDifference(vector, apart![i]!)).below(1e-6))
      })

    it('sma in lockstep takes no step before all have come, and none of one that died', () => {
      const { program, initial } = smallTraining(backend, OPTIMISER)
      const run = new GroupRun(program, randomSamples(100), { initial, rule: rule({ name: 'sma', lockstep: true }, 2) })
      for (const j of [0, 1]) run.add(j)
      for (const j of [0, 1]) run.compute(j)
      run.finish(0)
      expect(engine.groupStatus(run.group)).to.deep.include({ round: 0, arrived: [0] })
      expect(largestDifference(run.central(), initial)).to.equal(0)
      // It goes on to nothing, and what it is due outlives it.
      expect(run.segment(0, 'load', { milliseconds: 1 })).to.equal('waiting')
      engine.release(run.replicas.get(0)!.replica)
      engine.evict(run.group, 1)
      expect(engine.groupStatus(run.group)).to.deep.include({ round: 1, members: [0] })
      expect(largestDifference(run.weights(1), initial)).to.equal(0)
      expect(run.central()).to.satisfy((central: Float32Array) => central.every(Number.isFinite))
    })

    it('sma in lockstep takes the step of whoever is read or written before all have come at once, to the same numbers', () => {
      const { program, initial } = smallTraining(backend, OPTIMISER)
      const seen = (lockstep: boolean, looks: readonly number[], garbles = false) => {
        const run = new GroupRun(program, randomSamples(100), { initial, rule: rule({ name: 'sma', syncMomentum: 0.3, lockstep }, 3) })
        for (const j of [0, 1, 2]) run.add(j)
        const read: ArrayLike<number>[] = []
        for (let t = 0; t < 6; t++) {
          for (const j of [0, 1, 2]) run.compute(j)
          for (const j of [0, 1, 2]) {
            run.finish(j)
            if (!looks.includes(j)) continue
            read.push(run.weights(j))
            const { replica } = run.replicas.get(j)!
            // What it wrote itself is no part of the step any more.
            if (garbles) engine.writeVector(replica, 'gradients', new Float32Array(initial.length).fill(1e3))
            read.push(run.weights(j))
          }
        }
        return [...read, run.central(), ...[0, 1, 2].map((j) => run.weights(j))]
      }
      for (const looks of [[0], [1], [0, 1], [0, 1, 2]]) {
        const apart = seen(false, looks)
        expect(seen(true, looks, true)).to.deep.equal(apart)
        expect(largestDifference(apart[0]!, apart.at(-1)!)).above(1e-3)
      }
      expect(seen(true, []), 'and where nobody is').to.deep.equal(seen(false, []))
    })

    it('post-local-sgd averages in every iteration until its time', () => {
      for (const k of [1, 2, 3, 5]) {
        const pair = new Pair(backend, CASES['local-sgd']!, rule({ name: 'post-local-sgd', period: 3, startEpoch: 10 }, k))
        for (let j = 0; j < k; j++) pair.join(j)
        for (let t = 0; t < 130; t++) pair.iterate(t < 10 || (t - 10) % 3 === 2, `k ${k}, iteration ${t}`)
        expect(engine.groupStatus(pair.run.group)).to.include({ round: 50, iterations: 130 })
      }
    })

    for (const name of ['sma', 'ssgd', 'slowmo', 'polyak-ruppert'] as const)
      it(`${name} gives the same bits whatever the order of arrival`, () => {
        const { program, initial } = smallTraining(backend, OPTIMISER)
        const orders = [
          [0, 1, 2],
          [2, 1, 0],
          [1, 2, 0]
        ]
        const [first, ...others] = orders.map((order) => {
          const run = new GroupRun(program, randomSamples(100), { initial, rule: rule({ name }, 3) })
          for (const j of [0, 1, 2]) run.add(j)
          for (let t = 0; t < 24; t++) {
            for (const j of order) run.compute(j)
            for (const j of [...order].reverse()) run.finish(j)
          }
          return Buffer.from(run.central().buffer).toString('hex')
        })
        for (const other of others) expect(other).to.equal(first)
      })

    for (const [what, optimiser] of Object.entries({
      'momentum SGD': OPTIMISER,
      Adam: { name: 'adam' },
      'clipped LARS': { name: 'lars', momentum: 0.9, trust: 0.02, clipNorm: 0.5 }
    } as const))
      it(`k learners under ssgd with ${what} are one learner on the joined batch`, () => {
        // Large enough for several buckets.
        const model = defineModel({ name: 'wide', input: [60], layers: [linear(1200), relu(), linear(120), relu(), linear(5)] })
        const trained = [
          [1, 12],
          [3, 4]
        ].map(([k, batch]) => {
          const { program, initial } = smallTraining(backend, optimiser, { batch: batch!, model })
          const run = new GroupRun(program, randomSamples(96, 60), { initial, rule: rule({ name: 'ssgd' }, k!) }, { rate: 0.01 })
          for (let j = 0; j < k!; j++) run.add(j)
          engine.setEnd(run.group, 10)
          // Whole steps in turns: gradients are handed over in the middle of backward.
          for (let t = 0; t < 40; t++)
            for (const { replica, slot } of run.replicas.values()) engine.run(replica, slot, { steps: 1, milliseconds: 0 })
          expect(engine.groupStatus(run.group)).to.include({ round: 10, iterations: 10, position: 120 })
          return { central: run.central(), moved: largestDifference(run.central(), initial) }
        })
        expect(trained[0]!.moved).above(0.01)
        expect(largestDifference(trained[0]!.central, trained[1]!.central)).below(1e-4)
      })
  })
