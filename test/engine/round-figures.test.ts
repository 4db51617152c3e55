import { expect } from 'chai'
import type { GroupRule } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { downpour } from '../../src/rules/downpour.js'
import { hogwild } from '../../src/rules/hogwild.js'
import type { NamedRule } from '../../src/rules/rules.js'
import { testedBackends } from './support/backends.js'
import { GroupRun } from './support/group-run.js'
import { OPTIMISER, rule } from './support/rule-pair.js'
import { randomSamples, smallTraining } from './support/small-training.js'

function distanceBetween(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2
  return Math.sqrt(sum)
}

for (const { name: backend } of testedBackends()) {
  const start = (how: GroupRule, learners: number) => {
    const { program, initial } = smallTraining(backend, OPTIMISER)
    const run = new GroupRun(program, randomSamples(100), { initial, rule: how })
    for (let j = 0; j < learners; j++) run.add(j)
    return run
  }

  describe(`the figures of a round on ${backend}`, () => {
    for (const how of [
      { name: 'sma', period: 2, syncMomentum: 0.3 },
      { name: 'sma', period: 2, syncMomentum: 0.3, lockstep: true },
      { name: 'local-sgd', period: 2 },
      { name: 'lookahead', period: 2 },
      { name: 'ssgd' }
    ] as const satisfies readonly NamedRule[])
      it(`tell how far each learner was from the central model: ${JSON.stringify(how)}`, () => {
        const run = start(rule(how, 2), 2)
        const period = 'period' in how ? how.period : 1
        expect(engine.roundFigures(run.group, -1)).to.deep.equal([])
        const centres: ArrayLike<number>[] = []
        const ends: ArrayLike<number>[][] = []
        for (let round = 0; round < 3; round++) {
          centres.push(run.central())
          for (let t = 0; t < period; t++) for (const step of ['compute', 'finish'] as const) for (const j of [0, 1]) run[step](j)
          ends.push([0, 1].map((j) => run.weights(j)))
        }
        const figures = engine.roundFigures(run.group, -1)
        expect(figures.map(({ round, iteration }) => [round, iteration])).to.deep.equal([0, 1, 2].map((round) => [round, round * period]))
        const losses = engine.losses(run.group, 0)
        for (const { round, loss, members, seconds } of figures) {
          const own = losses.subarray(round * period, (round + 1) * period)
          expect(loss).closeTo(own.reduce((sum, each) => sum + each, 0) / period, 1e-6)
          expect(seconds).above(round > 0 ? figures[round - 1]!.seconds : 0)
          expect(members.map(({ learner }) => learner)).to.deep.equal([0, 1])
          members.forEach(({ distance }, j) => {
            const expected = how.name === 'ssgd' ? 0 : distanceBetween(ends[round]![j]!, centres[round]!)
            expect(distance).closeTo(expected, 1e-5)
            if (how.name !== 'ssgd') expect(distance).above(1e-4)
          })
        }
        expect(engine.roundFigures(run.group, 1)).to.deep.equal(figures.slice(2))
        run.release()
      })
  })
}

describe('the figures of a round', () => {
  const start = (how: GroupRule, learners: number) => {
    const { program, initial } = smallTraining('reference', OPTIMISER)
    const run = new GroupRun(program, randomSamples(100), { initial, rule: how })
    for (let j = 0; j < learners; j++) run.add(j)
    return run
  }
  const step = (run: GroupRun, j: number) => {
    run.compute(j)
    run.finish(j)
  }

  it('are those of a sample while it is asked for: of few rounds, with distances in some, and of none once it is not', async () => {
    const run = start(rule({ name: 'sma' }, 2), 2)
    const train = async (milliseconds: number) => {
      const end = performance.now() + milliseconds
      let rounds = 0
      for (; performance.now() < end; rounds++) {
        for (const j of [0, 1]) step(run, j)
        if (rounds % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      return rounds
    }
    expect(engine.sampledFigures(run.group, -1)).to.deep.equal([])
    const rounds = await train(500)
    const sample = engine.sampledFigures(run.group, -1)
    expect(sample.length).within(1, 6)
    expect(rounds).above(20)
    for (const { began, seconds, averaged, members } of sample) {
      expect(seconds).above(began)
      expect(averaged).within(0, seconds - began)
      expect(members.map(({ learner }) => learner)).to.deep.equal([0, 1])
    }
    expect(sample[0]!.members.every(({ distance }) => distance! > 0)).to.equal(true)
    const last = sample.at(-1)!.round
    await new Promise((resolve) => setTimeout(resolve, 2_100))
    await train(200)
    expect(engine.sampledFigures(run.group, last)).to.deep.equal([])
    run.release()
  })

  it('are recorded from the first call on, and leave the weights as they are', () => {
    const [watched, alone] = [true, false].map((watches) => {
      const run = start(rule({ name: 'sma' }, 1), 1)
      for (let t = 0; t < 4; t++) {
        if (watches && t === 2) engine.roundFigures(run.group, -1)
        step(run, 0)
      }
      return run
    })
    expect(engine.roundFigures(watched!.group, -1).map(({ round }) => round)).to.deep.equal([2, 3])
    expect(engine.roundFigures(alone!.group, -1)).to.deep.equal([])
    expect(watched!.central()).to.deep.equal(alone!.central())
  })

  it('tell how long a learner waited for others, but not how long it was paused', () => {
    const run = start(rule({ name: 'local-sgd', period: 1 }, 2), 2)
    engine.roundFigures(run.group, -1)
    for (const j of [0, 1]) run.compute(j)
    run.finish(0)
    // It adopts the model of round 1, which learner 1 holds up.
    expect(run.segment(0, 'load', { milliseconds: 60 })).to.equal('waiting')
    run.finish(1)
    for (const j of [0, 1]) step(run, j)
    engine.setPause(run.group, 2)
    for (const j of [0, 1]) expect(run.segment(j, 'load', { milliseconds: 60 })).to.equal('paused')
    engine.setPause(run.group, Infinity)
    for (const j of [0, 1]) step(run, j)
    const waits = engine.roundFigures(run.group, -1).map(({ members }) => members.map(({ waited }) => waited))
    expect(waits).to.have.length(3)
    expect(waits[1]![0]).to.be.within(0.05, 10)
    expect(waits[1]![1]).below(0.05)
    for (const round of [0, 2]) for (const waited of waits[round]!) expect(waited).below(0.05)
  })

  it('know those that died before they came as members without a distance', () => {
    const run = start(rule({ name: 'sma' }, 2), 2)
    engine.roundFigures(run.group, -1)
    for (const j of [0, 1]) run.compute(j)
    run.finish(0)
    expect(engine.roundFigures(run.group, -1)).to.deep.equal([])
    engine.evict(run.group, 1)
    const [figures] = engine.roundFigures(run.group, -1)
    expect(figures?.members.map(({ learner, distance }) => [learner, distance === null])).to.deep.equal([
      [0, false],
      [1, true]
    ])
  })

  it('know the newest 4096 rounds', () => {
    const run = start(rule({ name: 'sma' }, 1), 1)
    engine.roundFigures(run.group, -1)
    const { replica, slot } = run.replicas.get(0)!
    engine.setEnd(run.group, 5000)
    while (engine.run(replica, slot, { steps: 5000, milliseconds: 1000 }).outcome === 'ran');
    const figures = engine.roundFigures(run.group, -1)
    expect(figures.map(({ round }) => round)).to.deep.equal(Array.from({ length: 4096 }, (_, i) => 904 + i))
    expect(engine.roundFigures(run.group, 4998)).to.have.length(1)
  })

  it('tell who took part in a round of an asynchronous rule, and no distance where it pushes', () => {
    for (const [how, distance] of [
      [downpour({ period: 2 }), null],
      [hogwild({ period: 2 }), 0]
    ] as const) {
      const run = start(how, 2)
      engine.roundFigures(run.group, -1)
      for (const j of [0, 0, 0, 1, 0, 0, 0, 0]) step(run, j)
      const figures = engine.roundFigures(run.group, -1)
      expect(figures.map(({ round, members }) => [round, members])).to.deep.equal([
        [0, [0, 1].map((learner) => ({ learner, distance, waited: 0 }))],
        [1, [{ learner: 0, distance, waited: 0 }]]
      ])
    }
  })
})
