import { expect } from 'chai'
import { sma } from '../../src/rules/sma.js'
import { engine } from '../../src/engine/native.js'
import { GroupRun } from './support/group-run.js'
import { largestDifference, randomSamples, smallTraining } from './support/small-training.js'

const BATCH = 4
const MOMENTUM = { momentum: 0.9, weightDecay: 1e-3 }

describe('a group', () => {
  const soon = { milliseconds: 20 }
  const start = (k: number, period = 1): GroupRun => {
    const { program, initial } = smallTraining('reference', MOMENTUM)
    const run = new GroupRun(program, randomSamples(100), { initial, rule: sma({ period }, { learners: k }) })
    for (let j = 0; j < k; j++) run.add(j)
    return run
  }

  it('completes a round that an evicted learner holds up, without its correction', () => {
    const run = start(2)
    for (const j of [0, 1]) run.compute(j)
    run.finish(0)
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 0, arrived: [0] })
    engine.evict(run.group, 1)
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 1, members: [0] })
    run.compute(0)
    run.finish(0)
    expect(engine.groupStatus(run.group).round).to.equal(2)
  })

  it('counts the iterations of a round that its last learner leaves unfinished', () => {
    const run = start(2, 2)
    for (const j of [0, 1]) {
      run.compute(j)
      run.finish(j)
    }
    for (const j of [0, 1]) run.compute(j)
    engine.evict(run.group, 0)
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 0, iterations: 1 })
    engine.evict(run.group, 1)
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 1, iterations: 2, members: [] })
  })

  it('starts a learner that joins from the central model of its first round', () => {
    const run = start(2)
    for (let t = 0; t < 5; t++) {
      for (const j of [0, 1]) run.compute(j)
      for (const j of [0, 1]) run.finish(j)
    }
    run.add(2)
    const central = run.central()
    run.compute(2)
    expect(largestDifference(run.weights(2), central)).to.equal(0)
    expect(engine.groupStatus(run.group).position).to.equal((5 * 2 + 3) * BATCH)
  })

  it('goes on without a learner that is evicted between two rounds', () => {
    const run = start(2)
    for (const j of [0, 1]) run.compute(j)
    for (const j of [0, 1]) run.finish(j)
    engine.evict(run.group, 1)
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 1, members: [0] })
    expect(run.segment(1, 'load')).to.equal('evicted')
    run.compute(0)
    run.finish(0)
    // Its iterations do not hold back those of the others.
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 2, iterations: 2 })
  })

  it('restarts every learner from the central model at a milestone', () => {
    const run = start(2)
    engine.setRestarts(run.group, [3])
    for (let t = 0; t < 3; t++) {
      for (const j of [0, 1]) run.compute(j)
      for (const j of [0, 1]) run.finish(j)
    }
    const central = run.central()
    for (const j of [0, 1]) expect(largestDifference(run.weights(j), central)).above(0)
    for (const j of [0, 1]) run.compute(j)
    for (const j of [0, 1]) {
      expect(largestDifference(run.weights(j), central)).to.equal(0)
      expect(largestDifference(engine.readVector(run.replicas.get(j)!.replica, 'velocity'), new Float32Array(central.length))).to.equal(0)
    }
  })

  it('averages the last round where it is only a part of a period', () => {
    const run = start(1, 4)
    engine.setEnd(run.group, 6)
    for (let t = 0; t < 6; t++) {
      run.compute(0)
      run.finish(0)
    }
    expect(engine.groupStatus(run.group)).to.include({ round: 2, iterations: 6, position: 6 * BATCH })
    const { replica, slot } = run.replicas.get(0)!
    expect(engine.run(replica, slot, { steps: 1, milliseconds: 1000 }).outcome).to.equal('paused')
  })

  it('pauses at a round, with the central model whole, and goes on', () => {
    const run = start(1)
    const { replica, slot } = run.replicas.get(0)!
    engine.setPause(run.group, 7)
    expect(engine.run(replica, slot, { steps: 100, milliseconds: 10_000 })).to.include({ outcome: 'paused', steps: 7 })
    expect(engine.groupStatus(run.group).round).to.equal(7)
    engine.setPause(run.group, Infinity)
    expect(engine.run(replica, slot, { steps: 3, milliseconds: 10_000 })).to.include({ outcome: 'ran', steps: 3 })
  })

  it('tells a learner that waits to come back, and goes on in the middle of its step', () => {
    const run = start(2)
    const { replica, slot } = run.replicas.get(0)!
    const first = engine.run(replica, slot, { steps: 10, milliseconds: 30 })
    expect(first).to.include({ outcome: 'waiting', steps: 1 })
    run.compute(1)
    run.finish(1)
    expect(engine.run(replica, slot, { steps: 10, milliseconds: 30 })).to.include({ outcome: 'waiting', steps: 1 })
    expect(engine.losses(run.group, 0)).to.have.length(1)
  })

  it('tells the same segment by segment, and no segment of a step runs before its group lets it', () => {
    const run = start(2)
    for (const j of [0, 1]) run.compute(j)
    run.finish(0)
    run.compute(0)
    const before = run.weights(0)
    // The update needs the central model as the exchange does, also where the exchange is left out.
    for (const segment of ['exchange', 'update'] as const) expect(run.segment(0, segment, soon), segment).to.equal('waiting')
    expect(largestDifference(run.weights(0), before)).to.equal(0)
    engine.setPause(run.group, 2)
    run.finish(1)
    run.finish(0)
    expect(run.segment(0, 'load', soon)).to.equal('waiting')
    run.compute(1)
    run.finish(1)
    expect(run.segment(0, 'load', soon)).to.equal('paused')
    engine.setPause(run.group, Infinity)
    run.compute(0)
    engine.evict(run.group, 0)
    expect(run.segment(0, 'exchange', soon)).to.equal('ran')
    expect(run.segment(0, 'update', soon)).to.equal('ran')
    expect(run.segment(0, 'load', soon)).to.equal('evicted')
    engine.stop(run.group)
    expect(run.segment(1, 'load', soon)).to.equal('cancelled')
  })

  it('takes a rate and samples of a learner of its own choice', () => {
    const run = start(1)
    const before = run.central()
    run.segment(0, 'load', { ...soon, samples: [7, 7, 3, 99], learningRate: 0 })
    const { replica, slot } = run.replicas.get(0)!
    const input = engine.readValue(replica, slot, 'input')
    expect([...input.subarray(0, 12)]).to.deep.equal([...input.subarray(12, 24)])
    expect([...input.subarray(0, 12)]).to.not.deep.equal([...input.subarray(24, 36)])
    for (const segment of ['forward', 'backward', 'exchange'] as const)
      expect(run.segment(0, segment, { ...soon, learningRate: 0 })).to.equal('ran')
    run.segment(0, 'update', { ...soon, learningRate: 0 })
    expect(largestDifference(run.weights(0), before)).to.equal(0)
    for (const samples of [[1], [0, 0, 0, 100], [0, 0, 0, -1]])
      expect(() => run.segment(0, 'load', { ...soon, samples }))
        .to.throw()
        .with.property('code', 'INVALID_OPTION')
    run.segment(0, 'load')
    expect([...engine.readValue(replica, slot, 'input')]).to.not.deep.equal([...input])
  })

  it('stops before a loss that is not finite reaches the central model', () => {
    const { program, initial } = smallTraining('reference', MOMENTUM)
    const run = new GroupRun(program, randomSamples(100), { initial, rule: sma({}, { learners: 1 }) }, { rate: 1e30 }).add(0)
    const { replica, slot } = run.replicas.get(0)!
    expect(engine.run(replica, slot, { steps: 100, milliseconds: 10_000 }).outcome).to.equal('cancelled')
    expect(engine.groupStatus(run.group).notFiniteAt).within(1, 10)
    expect([...run.central()].every(Number.isFinite)).to.equal(true)
  })

  it('ends a learner that is cancelled or whose group is stopped', () => {
    const run = start(2)
    const { replica, slot } = run.replicas.get(0)!
    engine.cancel(replica)
    expect(engine.run(replica, slot, { steps: 10, milliseconds: 1000 }).outcome).to.equal('cancelled')
    engine.stop(run.group)
    expect(engine.run(replica, slot, { steps: 10, milliseconds: 1000 }).outcome).to.equal('cancelled')
  })

  it('refuses a learner that is already a member', () => {
    const run = start(1)
    expect(() => engine.join(run.group, 0))
      .to.throw()
      .with.property('code', 'INVALID_STATE')
  })
})
