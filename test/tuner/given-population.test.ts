import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { FinishedEvent } from '../../src/observe/events.js'
import type { Supervisor } from '../../src/actors/supervisor.js'
import { TestKit } from '../../src/runtime/testkit/index.js'
import { GivenPopulation } from '../../src/tuner/population-control.js'
import { trainWith } from '../../src/run/train.js'
import { held } from '../fakes/engine.js'
import { FAKES, tinyData, tinyModel } from '../fakes/job.js'
import { eventsOf } from '../support/events.js'

const TINY = { model: tinyModel(), data: tinyData(), batch: 4, seed: 5 } as const

const ports = () => process.getActiveResourcesInfo().filter((resource) => resource === 'MessagePort').length

describe('a job whose population changes', () => {
  const schedule = [
    { round: 0, learners: 1 },
    { round: 5, learners: 3 },
    { round: 9, learners: 2 }
  ]

  for (const [name, modules, options] of [
    ['the fake engine', FAKES, {}],
    ['the reference engine', {}, { backend: 'reference' }],
    ['the engine', {}, { backend: 'cpu', synchroniser: { period: 2 } }]
  ] as const)
    it(`follows a given schedule on ${name}, to the same weights each time`, async () => {
      const run = () => trainWith({ ...TINY, ...options, learners: { schedule }, until: { epochs: 3 } }, modules)
      const events = await eventsOf(run())
      const changes = events.filter((event) => event.event === 'population')
      expect(changes.map(({ round, from, to }) => [round, from, to])).to.deep.equal([
        [5, 1, 3],
        [9, 3, 2]
      ])
      const finished = events.at(-1) as FinishedEvent
      expect(finished).to.deep.include({ learners: 2, population: schedule })
      expect((await run().finished).weightsSha256).to.equal(finished.weightsSha256)
    })

  it('measures at the same samples as ever: once an epoch, and at the end', async () => {
    const events = await eventsOf(trainWith({ ...TINY, learners: { schedule }, until: { epochs: 3 } }, FAKES))
    // 60 samples an epoch: 5 rounds of 4, 4 of 12, then 8 each.
    const measured = events.filter((event) => event.event === 'evaluated')
    expect(measured.map(({ epoch }) => Math.round(60 * epoch))).to.deep.equal([68, 124, 180])
  })

  it('trains, and ends, while a learner that is wanted later is still coming up', async () => {
    const learner = `data:text/javascript,${encodeURIComponent(`export default ({ rank, replica }) => ({
      async started() { if (rank === 1) await new Promise((resolve) => setTimeout(resolve, 1e6)) },
      async step() { await replica.run(1) }
    })`)}`
    const later = [
      { round: 0, learners: 1 },
      { round: 1000, learners: 2 }
    ]
    const modules = { ...FAKES, learner: new URL(learner) }
    const events = await eventsOf(trainWith({ ...TINY, learners: { schedule: later }, until: { steps: 200 } }, modules))
    expect(events.at(-1)).to.include({ event: 'finished', reason: 'completed', iterations: 200, learners: 1 })
  }).timeout(40_000)

  it('says with how many learners it ended where a change was due at its end', async () => {
    const late = [
      { round: 0, learners: 2 },
      { round: 15, learners: 3 }
    ]
    // 8 samples a round.
    const finished = await trainWith({ ...TINY, learners: { schedule: late }, until: { epochs: 2 } }, FAKES).finished
    expect(finished).to.deep.include({ iterations: 15, learners: 2, population: late.slice(0, 1) })
  })

  it('leaves no thread and nothing in the engine behind', async () => {
    held.clear()
    const before = ports()
    await trainWith({ ...TINY, learners: { schedule }, until: { epochs: 3 } }, FAKES).finished
    await sleep(50)
    expect(held.size).to.equal(1)
    expect(ports()).to.equal(before)
  })
})

describe('a given population', () => {
  const schedule = [
    { round: 0, learners: 2 },
    { round: 100, learners: 8 },
    { round: 200, learners: 4 },
    { round: 400, learners: 6 }
  ]

  /** The learners that it has made ready from a round on. */
  const prepared = async (round: number, given = schedule) => {
    const kit = new TestKit()
    const { ref, received } = await kit.probe<Supervisor>()
    const population = new GivenPopulation(given, ref.askWith({ deadline: Infinity }), round)
    await kit.settle()
    expect(population.isDue(round)).to.equal(false)
    return received.map(({ method, args }) => [method, ...args])
  }

  it('makes those ready who come next, from wherever it begins', async () => {
    expect(await prepared(0)).to.deep.equal([['prepare', 8]])
    expect(await prepared(150)).to.deep.equal([])
    expect(await prepared(300)).to.deep.equal([['prepare', 6]])
    expect(await prepared(300, schedule.slice(0, 3))).to.deep.equal([])
  })

  it('makes those ready who come after a change, while the others train', async () => {
    const kit = new TestKit()
    const { ref, received } = await kit.probe<Supervisor>()
    const population = new GivenPopulation(schedule, ref.askWith({ deadline: Infinity }), 150)
    expect(population.isDue(200)).to.equal(true)
    await kit.run(population.change(200))
    await kit.settle()
    expect(received.map(({ method, args }) => [method, ...args])).to.deep.equal([
      ['resizeNow', 4],
      ['prepare', 6]
    ])
  })
})
