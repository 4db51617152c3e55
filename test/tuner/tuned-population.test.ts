import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { ArbalestError } from '../../src/errors.js'
import { ActorSystem } from '../../src/runtime/system.js'
import type { PopulationDecision } from '../../src/tuner/population-control.js'
import { TunedPopulation } from '../../src/tuner/tuned-population.js'
import { idleSupervisor } from '../fakes/idle-supervisor.js'

describe('a population that is tuned', () => {
  for (const how of ['memory does not hold', 'no thread can be started for'] as const)
    it(`goes on with the learners that it has where ${how} those that it settled on`, async () => {
      await using system = new ActorSystem()
      let full = false
      const { supervisor } = await idleSupervisor(system, 4, () => {
        if (full) throw new RangeError('no thread')
      })
      const refusal = () => (full && how === 'memory does not hold' ? 'no memory' : undefined)
      const tuning = { most: 6, threshold: 0.04, window: 0.1, by: 1 }
      const population = new TunedPopulation({ start: 4, tuning, run: supervisor.askWith({ deadline: Infinity }), refusal })
      const news: PopulationDecision[] = []
      let learners = 4
      let [round, position, seconds] = [0, 0, 0]
      for (let look = 0; look < 2000 && news.at(-1)?.action !== 'settle'; look++) {
        round++
        seconds += 0.02
        position += [0, 0, 160, 178, 200, 180, 170][learners]! / 50
        // Others take the machine as soon as it tries fewer than it will settle on.
        full = learners < 4
        const left = { samples: 1e9, seconds: Infinity }
        const members = Array.from({ length: learners }, (_, i) => i)
        if (population.watch({ round, iterations: round, position, notFiniteAt: -1, arrived: [], members, seconds, left })) {
          await population.change(round)
          learners = population.schedule.at(-1)!.learners
        }
        news.push(...population.takeDecisions())
        await turn()
      }
      expect(news.map(({ action, from, to }) => [action, from, to])).to.deep.equal([
        ['try', 4, 5],
        ['try', 5, 6],
        ['try', 6, 3],
        ['try', 3, 2],
        ['settle', 2, 2]
      ])
      expect(news.at(-1)!.reason).to.match(
        how === 'memory does not hold'
          ? /^no memory; settled on 2 learners$/
          : /^3 learners are impossible: .*no thread \(at .*:\d+\); settled on 2 learners$/
      )
      expect(population.schedule.at(-1)).to.deep.include({ learners: 2 })
    })

  /** Two to six learners, at first as many as `start`. */
  async function tuned(system: ActorSystem, start: number) {
    const { supervisor } = await idleSupervisor(system, start)
    const tuning = { most: 6, threshold: 0.04, window: 0.1, by: 2 }
    return new TunedPopulation({ start, tuning, run: supervisor.askWith({ deadline: Infinity }), refusal: () => undefined })
  }

  const outOfMemory = () => new ArbalestError('OUT_OF_MEMORY', 'graph: no memory')

  it('goes on with fewer where a learner dies for want of memory, at the next rest', async () => {
    await using system = new ActorSystem()
    const population = await tuned(system, 4)
    expect(population.leavesVacant(new RangeError('something else'))).to.equal(false)
    expect(population.leavesVacant(new ArbalestError('LEARNER_FAILED', 'something else'))).to.equal(false)
    expect(population.isDue()).to.equal(false)
    expect(population.leavesVacant(outOfMemory())).to.equal(true)
    expect(population.isDue()).to.equal(true)
    expect(await population.change(7)).to.equal(true)
    expect(population.takeDecisions()).to.deep.include({
      action: 'try',
      from: 4,
      to: 2,
      reason: '4 learners are impossible: graph: no memory',
      figures: []
    })
    expect(population.schedule).to.deep.equal([
      { round: 0, learners: 4 },
      { round: 7, learners: 2 }
    ])
  })

  it('has none to give up where there is one on each device', async () => {
    await using system = new ActorSystem()
    const population = await tuned(system, 2)
    expect(population.leavesVacant(outOfMemory())).to.equal(false)
    expect(population.isDue()).to.equal(false)
  })

  it('has none to give up where a program has set the number of learners, or keeps it', async () => {
    await using system = new ActorSystem()
    const population = await tuned(system, 4)
    population.tune(false)
    expect(population.leavesVacant(outOfMemory())).to.equal(false)
    expect(population.isDue()).to.equal(false)
    population.tune(true)
    await population.resize(3, 6)
    expect(population.leavesVacant(outOfMemory())).to.equal(false)
    expect(population.isDue()).to.equal(false)
    population.tune(true)
    expect(population.leavesVacant(outOfMemory())).to.equal(true)
  })

  for (const [how, on] of [
    ['off', false],
    ['on again', true]
  ] as const)
    it(`ends those that were started for the next trial where the tuner is turned ${how}`, async () => {
      await using system = new ActorSystem()
      const { supervisor, idlers } = await idleSupervisor(system, 2)
      const tuning = { most: 6, threshold: 0.04, window: 0.1, by: 2 }
      const population = new TunedPopulation({
        start: 2,
        tuning,
        run: supervisor.askWith({ deadline: Infinity }),
        refusal: () => undefined
      })
      const left = { samples: 1e9, seconds: Infinity }
      for (let look = 0; !population.isDue(); look++) {
        const status = { round: look, iterations: look, position: 4 * look, notFiniteAt: -1, arrived: [], members: [0, 1] }
        population.watch({ ...status, seconds: 0.02 * look, left })
        await turn()
      }
      expect(idlers.length).to.be.above(2)
      population.tune(on)
      expect(population.isDue()).to.equal(false)
      for (const idler of idlers.slice(2)) expect(await idler.exited).to.deep.equal({ kind: 'stopped' })
      expect(population.schedule).to.deep.equal([{ round: 0, learners: 2 }])
      expect((await supervisor.ask.replicas()).map((found) => found?.learner)).to.deep.equal([0, 1])
    })

  it('measures nothing while a learner is being started that then fails', async () => {
    await using system = new ActorSystem()
    let fail: (() => void) | undefined
    const mayStart = (learner: number) => {
      if (learner > 0) return new Promise<void>((_, reject) => (fail = () => reject(new RangeError('no thread'))))
    }
    const { supervisor } = await idleSupervisor(system, 1, mayStart)
    const tuning = { most: 2, threshold: 0.04, window: 0.1, by: 1 }
    const run = supervisor.askWith({ deadline: Infinity })
    const population = new TunedPopulation({ start: 1, tuning, run, refusal: () => undefined })
    const news: PopulationDecision[] = []
    let [position, starting] = [0, 0]
    for (let look = 0; look < 5000 && news.at(-1)?.action !== 'look'; look++) {
      // Half as fast while another one starts.
      position += fail ? 2 : 4
      const left = { samples: 1e9, seconds: Infinity }
      const status = { round: look, iterations: look, position, notFiniteAt: -1, arrived: [], members: [0] }
      population.watch({ ...status, seconds: 0.02 * look, left })
      if (fail && ++starting === 50) {
        fail()
        fail = undefined
        starting = 0
      }
      news.push(...population.takeDecisions())
      await turn()
    }
    expect(news.map(({ action, to }) => [action, to])).to.deep.equal([
      ['settle', 1],
      ['look', 1]
    ])
    expect(news[0]!.reason).to.match(/^2 learners are impossible: .*no thread.*; settled on 1 learner$/)
    expect(news[1]!.reason).to.equal('no change for long; searching again')
    expect(news[1]!.figures[0]!.samplesPerSecond).to.be.closeTo(200, 1e-6)
    expect(news[1]!.figures[0]!.std).to.be.below(1e-6)
  })

  it('measures no window in which a learner was missing', async () => {
    await using system = new ActorSystem()
    const population = await tuned(system, 4)
    // The first whole window says that so short a run is left as it is.
    const left = { samples: 1e9, seconds: 1 }
    const newsOf = (missing: (look: number) => boolean, from: number) => {
      for (let look = from; look < from + 400; look++) {
        const members = missing(look) ? [0, 1, 2] : [0, 1, 2, 3]
        const status = { round: look, iterations: look, position: 4 * look, notFiniteAt: -1, arrived: [], members }
        population.watch({ ...status, seconds: 0.02 * look, left })
      }
      return population.takeDecisions().map(({ action, to }) => [action, to])
    }
    // No window of five looks is whole.
    expect(newsOf((look) => look % 4 === 0, 0)).to.deep.equal([])
    expect(newsOf(() => false, 400)).to.deep.equal([['settle', 4]])
  })
})
