import { expect } from 'chai'
import type { Departure, GroupRule } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { defineModel, linear, relu } from '../../src/model/layers.js'
import { refused } from '../support/codes.js'
import { GroupRun } from './support/group-run.js'
import { rule } from './support/rule-pair.js'
import { largestDifference, randomSamples, SMALL_MODEL, smallTraining } from './support/small-training.js'

const MOMENTUM = { momentum: 0.9, weightDecay: 1e-3 }
/** Of several buckets of gradients. */
const WIDE = defineModel({ name: 'wide', input: [12], layers: [linear(700), relu(), linear(700), relu(), linear(5)] })

/** How far the learner that leaves has come in its round, while the others have ended theirs. */
const PLACES = ['load', 'forward', 'backward', 'exchange', 'update'] as const

function threeLearners(how: GroupRule, model = SMALL_MODEL): GroupRun {
  const { program, initial } = smallTraining('reference', MOMENTUM, { model })
  const run = new GroupRun(program, randomSamples(100), { initial, rule: how })
  for (const learner of [0, 1, 2]) run.add(learner)
  return run
}

/** An iteration of these learners. */
function iterate(run: GroupRun, learners: readonly number[]): void {
  for (const learner of learners) run.compute(learner)
  for (const learner of learners) run.finish(learner)
}

describe('a departure', () => {
  for (const [name, period] of [
    ['sma', 1],
    ['ssgd', 1],
    ['local-sgd', 2]
  ] as const)
    for (const [done, next] of PLACES.entries())
      it(`is repeated bit for bit: under ${name}, of a learner that dies before ${next}`, () => {
        const how = rule(name === 'ssgd' ? { name } : { name, period }, 3)
        const run = threeLearners(how)
        for (let i = 0; i < 2 * period; i++) iterate(run, [0, 1, 2])
        // The learner dies in the last iteration of the third round.
        for (let i = 0; i < period - 1; i++) iterate(run, [0, 1, 2])
        for (const learner of [0, 2]) run.compute(learner)
        for (const segment of PLACES.slice(0, done)) run.segment(1, segment)
        for (const learner of [0, 2]) run.finish(learner)
        const departure = engine.evict(run.group, 1)!
        expect(departure).to.deep.include({ round: 2, iteration: 2 * period, iterations: period - 1 })
        expect(engine.evict(run.group, 1)).to.deep.equal(departure)
        for (let i = 0; i < 3 * period; i++) iterate(run, [0, 2])

        const again = threeLearners(how)
        for (let i = 0; i < 2 * period; i++) iterate(again, [0, 1, 2])
        engine.depart(again.group, 1, departure)
        for (let i = 0; i < period - 1; i++) iterate(again, [0, 1, 2])
        for (const learner of [0, 2]) again.compute(learner)
        if (departure.brought.length > 0) again.compute(1)
        for (const learner of [0, 2]) again.finish(learner)
        if (departure.brought.length > 0) again.finish(1)
        expect(again.segment(1, 'load')).to.equal('evicted')
        expect(engine.evict(again.group, 1)).to.deep.equal(departure)
        for (let i = 0; i < 3 * period; i++) iterate(again, [0, 2])

        expect(largestDifference(again.central(), run.central())).to.equal(0)
        expect(engine.groupStatus(again.group)).to.deep.equal(engine.groupStatus(run.group))
        expect(engine.losses(again.group, 0)).to.deep.equal(engine.losses(run.group, 0))
      })

  it('brings the buckets that it names, and no others', () => {
    const ssgd = rule({ name: 'ssgd' }, 3)
    const centralAfter = (brought: readonly number[] | 'all'): Float32Array | Float64Array => {
      const run = threeLearners(ssgd, WIDE)
      if (brought !== 'all') engine.depart(run.group, 1, { round: 0, iteration: 0, iterations: 0, until: 1, brought })
      iterate(run, [0, 1, 2])
      if (brought !== 'all') expect(run.segment(1, 'load')).to.equal('evicted')
      return run.central()
    }
    const [all, first, none] = [centralAfter('all'), centralAfter([0]), centralAfter([99])]
    // The first bucket is of the last parameters.
    const bucket = first.findLastIndex((value, i) => value !== all[i]) + 1
    expect(bucket).to.be.within(1, first.length - 1)
    expect(first.slice(bucket)).to.deep.equal(all.slice(bucket))
    expect(first.slice(0, bucket)).to.deep.equal(none.slice(0, bucket))
  })

  it('counts a learner that has left in the rounds that were open', () => {
    const run = threeLearners(rule({ name: 'sma' }, 3))
    engine.depart(run.group, 1, { round: 0, iteration: 0, iterations: 0, until: 2, brought: [] })
    expect(run.segment(1, 'load')).to.equal('evicted')
    const positions = [0, 1, 2, 3].map(() => {
      iterate(run, [0, 2])
      return engine.groupStatus(run.group).position
    })
    expect(positions).to.deep.equal([12, 24, 32, 40])
  })

  it('is as planned where the learner leaves before anybody has entered the round, and else as it was', () => {
    const planned: Departure = { round: 1, iteration: 1, iterations: 0, until: 3, brought: [] }
    const leaves = (leave: (run: GroupRun) => void): GroupRun => {
      const run = threeLearners(rule({ name: 'sma' }, 3))
      iterate(run, [0, 1, 2])
      leave(run)
      for (let i = 0; i < 3; i++) iterate(run, [0, 2])
      return run
    }
    const asPlanned = leaves((run) => {
      engine.depart(run.group, 1, planned)
      expect(run.segment(1, 'load')).to.equal('evicted')
    })
    const early = leaves((run) => expect(engine.evict(run.group, 1, planned)).to.deep.equal(planned))
    expect(early.central()).to.deep.equal(asPlanned.central())
    expect(engine.groupStatus(early.group)).to.deep.equal(engine.groupStatus(asPlanned.group))

    const other = { round: 1, until: 1 }
    for (const wrong of [{ round: 2 }, { iterations: 1 }, { until: 9 }, { until: 1 }, { brought: [0] }])
      leaves((run) => expect(engine.evict(run.group, 1, { ...planned, ...wrong })).to.deep.include(other))
    const late = threeLearners(rule({ name: 'sma' }, 3))
    iterate(late, [0, 1, 2])
    late.compute(0)
    expect(engine.evict(late.group, 1, planned)).to.deep.include({ round: 1, until: 2 })
  })

  it('is one of two rounds at most, also where a learner has joined that begins after them', () => {
    const run = threeLearners(rule({ name: 'sma' }, 3))
    // The first round waits for learner 1. The second one is open.
    for (const learner of [0, 2]) run.compute(learner)
    for (const learner of [0, 2]) run.finish(learner)
    run.compute(0)
    run.add(3)
    expect(run.segment(3, 'load')).to.equal('waiting')
    const departure = engine.evict(run.group, 1)!
    expect(departure).to.deep.include({ round: 0, until: 2 })
    engine.depart(threeLearners(rule({ name: 'sma' }, 3)).group, 1, departure)
    // The one that has joined goes on with the others.
    run.finish(0)
    iterate(run, [2])
    iterate(run, [0, 2, 3])
    expect(engine.groupStatus(run.group).round).to.equal(3)
  })

  it('is refused from another round than the next, in the middle of one, and of a learner that is no member', async () => {
    const run = threeLearners(rule({ name: 'sma' }, 3))
    const departure: Departure = { round: 0, iteration: 0, iterations: 0, until: 1, brought: [] }
    for (const wrong of [{ round: 1, until: 2 }, { until: 0 }, { until: 9 }])
      await refused('INVALID_OPTION', () => engine.depart(run.group, 1, { ...departure, ...wrong }))
    await refused('INVALID_STATE', () => engine.depart(run.group, 7, departure))
    expect(engine.evict(run.group, 7)).to.equal(null)
    run.compute(0)
    await refused('INVALID_STATE', () => engine.depart(run.group, 1, departure))
  })
})
