import { expect } from 'chai'
import { ruleOf, type NamedRule } from '../../src/rules/rules.js'
import type { OptimiserAttributes } from '../../src/compiler/optimiser.js'
import type { EvaluationAverage, GroupSpec } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { refused } from '../support/codes.js'
import { GroupRun } from './support/group-run.js'
import { randomSamples, smallTraining } from './support/small-training.js'

const MOMENTUM: OptimiserAttributes = { momentum: 0.9, weightDecay: 1e-3, nesterov: false }
const ADAM: OptimiserAttributes = { name: 'adamw', weightDecay: 1e-2 }
const EVERY_ROUND = { from: 0, every: 1 }

interface Case {
  readonly rule: NamedRule
  readonly optimiser?: OptimiserAttributes
  readonly average?: EvaluationAverage
}

const CASES: Record<string, Case> = {
  'sma with momentum of both kinds': { rule: { name: 'sma', syncMomentum: 0.3 } },
  'sma every third iteration, under Adam': { rule: { name: 'sma', period: 3 }, optimiser: ADAM },
  'ssgd, whose group has the optimiser': { rule: { name: 'ssgd' } },
  'ssgd under Adam': { rule: { name: 'ssgd' }, optimiser: ADAM },
  'parameter-server, with the models of some rounds': { rule: { name: 'parameter-server', slack: 3 } },
  'parameter-server, with the steps of its learners': { rule: { name: 'parameter-server', slack: 3, apply: 'updates' } },
  'slowmo, with its outer momentum': { rule: { name: 'slowmo', period: 2 } },
  'polyak-ruppert, with its count of rounds': { rule: { name: 'polyak-ruppert' } },
  'downpour, with what was not pushed': { rule: { name: 'downpour', pushPeriod: 3, fetchPeriod: 2, period: 1 } },
  'hogwild, whose weights are the group’s': { rule: { name: 'hogwild', period: 1 } },
  'an exponential average beside sma': { rule: { name: 'sma' }, average: { kind: 'ema', decay: 0.9, ...EVERY_ROUND } },
  'an average of the last three': { rule: { name: 'sma' }, average: { kind: 'lawa', window: 3, ...EVERY_ROUND } }
}

const LEARNERS = 3

for (const backend of ['reference', 'cpu'] as const)
  describe(`a group that goes on from a snapshot, on ${backend}`, () => {
    for (const [name, { rule: named, optimiser = MOMENTUM, average }] of Object.entries(CASES)) {
      const { name: ruleName = 'sma', ...options } = named
      const rule = ruleOf(ruleName, options, { learners: LEARNERS, iterations: 0, iterationAt: (epoch) => epoch })
      const period = rule.period

      it(`equals one that was never interrupted, bit for bit: ${name}`, () => {
        const { program, initial } = smallTraining(backend, optimiser)
        const spec: Pick<GroupSpec, 'initial' | 'rule' | 'average'> = { initial, rule, ...(average && { average }) }
        const dataset = randomSamples(300)
        const iterate = (run: GroupRun, rounds: number) => {
          for (let t = 0; t < rounds * period; t++) {
            for (const learner of run.replicas.keys()) run.compute(learner)
            for (const learner of run.replicas.keys()) run.finish(learner)
          }
        }
        const whole = new GroupRun(program, dataset, spec)
        // As in a run in which learners have been replaced.
        for (const learner of [1, 4, 7]) whole.add(learner)
        iterate(whole, 5)
        const group = whole.captureGroup()
        const learners = [1, 4, 7].map((learner) => whole.capture(learner))
        iterate(whole, 7)

        const resumed = new GroupRun(program, dataset, { ...spec, initial: new Float32Array(initial.length) })
        engine.restoreGroup(resumed.group, group)
        learners.forEach((contents, i) => resumed.add(i, contents))
        const { round, position, iterations } = engine.groupStatus(resumed.group)
        expect([round, position, iterations]).to.deep.equal([5, 5 * period * LEARNERS * 4, 5 * period])
        iterate(resumed, 7)
        expect(resumed.central()).to.deep.equal(whole.central())
        ;[1, 4, 7].forEach((learner, i) => expect(resumed.weights(i)).to.deep.equal(whole.weights(learner)))
        expect(engine.groupStatus(resumed.group).position).to.equal(engine.groupStatus(whole.group).position)
      })
    }

    it('gives each learner the updates that it brought itself, in whatever order the learners had joined', () => {
      const { program, initial } = smallTraining(backend, MOMENTUM)
      const rule = ruleOf('parameter-server', { slack: 3, apply: 'updates' }, { learners: 2, iterations: 0, iterationAt: (epoch) => epoch })
      const dataset = randomSamples(300)
      const iterate = (run: GroupRun, count: number) => {
        for (let i = 0; i < count; i++) {
          for (const learner of run.replicas.keys()) run.compute(learner)
          for (const learner of run.replicas.keys()) run.finish(learner)
        }
      }
      // As where two learners have died, and the thread of the second successor was there first.
      const joined = [3, 2]
      const whole = new GroupRun(program, dataset, { initial, rule })
      for (const learner of joined) whole.add(learner)
      iterate(whole, 5)
      const group = whole.captureGroup()
      const learners = joined.map((learner) => whole.capture(learner))
      iterate(whole, 7)

      const resumed = new GroupRun(program, dataset, { initial, rule })
      engine.restoreGroup(resumed.group, group)
      learners.forEach((contents, i) => resumed.add(i, contents))
      iterate(resumed, 7)
      expect(resumed.central()).to.deep.equal(whole.central())
    })

    it('gives a learner its own unpushed updates, also where one before it has yet to begin', () => {
      const { program, initial } = smallTraining(backend, MOMENTUM)
      const options = { pushPeriod: 3, fetchPeriod: 2, period: 1 }
      const rule = ruleOf('downpour', options, { learners: LEARNERS, iterations: 0, iterationAt: (epoch) => epoch })
      const dataset = randomSamples(300)
      const whole = new GroupRun(program, dataset, { initial, rule })
      for (const learner of [0, 1, 2]) whole.add(learner)
      for (const learner of [0, 2, 0]) {
        whole.compute(learner)
        whole.finish(learner)
      }
      const group = whole.captureGroup()
      expect(group.counts).to.deep.include({ 'fresh.0': 0, 'fresh.1': 1, 'fresh.2': 0 })

      const resumed = new GroupRun(program, dataset, { initial, rule })
      engine.restoreGroup(resumed.group, group)
      for (const learner of [0, 1, 2]) resumed.add(learner, learner === 1 ? undefined : whole.capture(learner))
      expect(resumed.captureGroup()).to.deep.equal(group)
    })

    it('refuses a snapshot of another rule or optimiser, and one taken in the middle of a round', async () => {
      const { program, initial } = smallTraining(backend, MOMENTUM)
      const rule = ruleOf('sma', {}, { learners: 1, iterations: 0, iterationAt: (epoch) => epoch })
      const outer = ruleOf('slowmo', {}, { learners: 1, iterations: 0, iterationAt: (epoch) => epoch })
      const dataset = randomSamples(20)
      const run = new GroupRun(program, dataset, { initial, rule }).add(0)
      run.compute(0)
      await refused('INVALID_STATE', () => run.captureGroup(), 'in progress')
      run.finish(0)
      const other = new GroupRun(program, dataset, { initial, rule: outer })
      await refused('SHAPE_MISMATCH', () => engine.restoreGroup(other.group, run.captureGroup()), 'central.velocity')
      const { program: adam } = smallTraining(backend, ADAM)
      const learner = new GroupRun(adam, dataset, { initial, rule })
      await refused('SHAPE_MISMATCH', () => learner.add(0, run.capture(0)), 'firstMoment')
      await refused('INVALID_STATE', () => engine.restoreGroup(run.group, run.captureGroup()), 'before any learner joins')
    })

    for (const named of [{ name: 'sma' }, { name: 'local-sgd' }, { name: 'downpour' }] as const)
      it(`goes on where the last round was cut short: ${named.name}`, () => {
        const { program, initial } = smallTraining(backend, MOMENTUM)
        const rule = ruleOf(named.name, { period: 4 }, { learners: 1, iterations: 0, iterationAt: (epoch) => epoch })
        const dataset = randomSamples(100)
        const iterate = (run: GroupRun, count: number) => {
          for (let i = 0; i < count; i++) {
            run.compute(0)
            run.finish(0)
          }
        }
        const short = new GroupRun(program, dataset, { initial, rule }).add(0)
        engine.setEnd(short.group, 6)
        iterate(short, 6)
        expect(short.segment(0, 'load')).to.equal('paused')
        const group = short.captureGroup()
        expect(group.counts).to.include({ round: 2, iteration: 6, position: 24 })

        const resumed = new GroupRun(program, dataset, { initial, rule })
        engine.restoreGroup(resumed.group, group)
        engine.setEnd(resumed.group, 11)
        expect(engine.groupStatus(resumed.group)).to.include({ round: 2, iterations: 6, position: 24 })
        resumed.add(0, short.capture(0))
        iterate(resumed, 4)
        expect(engine.groupStatus(resumed.group)).to.include({ round: 3, iterations: 10 })
        iterate(resumed, 1)
        expect(resumed.segment(0, 'load')).to.equal('paused')
        expect(resumed.captureGroup().counts).to.include({ round: 4, iteration: 11, position: 44 })
        expect(engine.losses(resumed.group, 6)).to.have.lengthOf(5)
      })

    it('counts whoever has yet to begin', () => {
      const { program, initial } = smallTraining(backend, MOMENTUM)
      const rule = ruleOf('sma', {}, { learners: 2, iterations: 0, iterationAt: (epoch) => epoch })
      const run = new GroupRun(program, randomSamples(20), { initial, rule }).add(0)
      run.compute(0)
      run.finish(0)
      run.add(1)
      expect(run.captureGroup().counts).to.include({ 'fresh.0': 0, 'fresh.1': 1, round: 1 })
    })
  })
