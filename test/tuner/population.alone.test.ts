import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { FinishedEvent, JobEvent, PopulationEvent } from '../../src/observe/events.js'
import type { RunModules } from '../../src/run/run.js'
import type { Job } from '../../src/run/job.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import type { Supervisor } from '../../src/actors/supervisor.js'
import { TestKit } from '../../src/runtime/testkit/index.js'
import { GivenPopulation } from '../../src/tuner/population-control.js'
import { trainWith } from '../../src/run/train.js'
import { held } from '../fakes/engine.js'
import { FAKES, tinyData, tinyModel } from '../fakes/job.js'
import { description } from '../fakes/undescribed-engine.js'
import { rejection } from '../support/rejection.js'

const TINY = { model: tinyModel(), data: tinyData(), batch: 4, seed: 5 } as const

async function eventsOf(job: Job): Promise<JobEvent[]> {
  const events: JobEvent[] = []
  for await (const event of job) events.push(event)
  return events
}

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
    const population = new GivenPopulation(given, ref, round)
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
    const population = new GivenPopulation(schedule, ref, 150)
    expect(population.isDue(200)).to.equal(true)
    await kit.run(population.change(200))
    await kit.settle()
    expect(received.map(({ method, args }) => [method, ...args])).to.deep.equal([
      ['resize', 4],
      ['prepare', 6]
    ])
  })
})

describe('a job that is tuned', () => {
  const MODEL = { model: 'logistic-regression', data: 'digits', batch: 4, seed: 5 } as const

  /** Until it has decided as is wanted: a run that is to be long is not too short to be tuned, however busy the machine. */
  async function tunedUntil(options: Partial<TrainOptions>, modules: Partial<RunModules>, wanted: (decision: PopulationEvent) => boolean) {
    const job = trainWith({ ...MODEL, until: { epochs: 10_000 }, optimiser: { milestones: [] }, ...options }, modules)
    const events: JobEvent[] = []
    let decided = Infinity
    for await (const event of job) {
      events.push(event)
      if (event.event === 'population' && wanted(event)) decided = Math.min(decided, event.round)
      // Once it has trained as was decided: a change in its last round would be none.
      if (event.event === 'progress' && event.iteration > decided) job.stop()
    }
    return events
  }

  it('tries other numbers of learners, and its schedule gives the same weights again', async () => {
    const options = { learners: { initial: 1, max: 2, window: 0.004 } }
    const events = await tunedUntil(options, {}, ({ action }) => action === 'settle')
    const { population, weightsSha256, iterations } = events.at(-1) as FinishedEvent
    const decisions = events.filter((event): event is PopulationEvent => event.event === 'population')
    const changes = decisions.filter(({ from, to }) => from !== to)
    expect(changes[0]).to.include({ action: 'try', from: 1, to: 2 })
    expect(population).to.deep.equal([{ round: 0, learners: 1 }, ...changes.map(({ round, to }) => ({ round, learners: to }))])
    expect(decisions.some(({ action }) => action === 'settle')).to.equal(true)
    expect(changes.every(({ reason, figures }) => reason !== '' && figures.length > 0)).to.equal(true)
    const given = { ...MODEL, learners: { schedule: population }, until: { steps: iterations }, optimiser: { milestones: [] } }
    const again = await trainWith(given, {}).finished
    expect(again).to.deep.include({ weightsSha256, iterations, population })
  })

  it('stays as it is, and says so, where memory holds no more', async () => {
    const engine = new URL('../fakes/filling-engine.js', import.meta.url)
    const events = await tunedUntil({ learners: { initial: 1, max: 3, window: 0.004 } }, { engine }, () => true)
    const [first, ...others] = events.filter((event): event is PopulationEvent => event.event === 'population')
    expect(first).to.include({ action: 'settle', from: 1, to: 1 })
    expect(first!.reason).to.match(/^no memory for 1 more: \d\d\.\d MiB are wanted where 1\.0 MiB are free; settled on 1 learner$/)
    expect(others.every(({ to }) => to === 1)).to.equal(true)
    expect((events.at(-1) as FinishedEvent).population).to.deep.equal([{ round: 0, learners: 1 }])
  })

  for (const [who, victim, start] of [
    ['one that has just come', 2, 2],
    ['one that was always there, whose place is filled anew', 0, 3]
  ] as const)
    it(`goes on with fewer where memory fails ${who}`, async () => {
      const module = `data:text/javascript,${encodeURIComponent(`
        import { ArbalestError } from '${new URL('../../src/errors.js', import.meta.url).href}'
        export default ({ learner, replica }) => ({
          steps: 0,
          async step() {
            if (learner === ${victim} && ++this.steps === 20) throw new ArbalestError('OUT_OF_MEMORY', 'graph: the GPU has no more memory')
            await replica.run(1)
          }
        })`)}`
      let retreated = false
      const events = await tunedUntil(
        { learners: { initial: start, max: 3, window: 0.01 } },
        { learner: new URL(module) },
        ({ reason }) => {
          const goesOn = retreated
          retreated ||= reason.includes('no more memory')
          return goesOn
        }
      )
      const lost = events.filter((event) => event.event === 'learnerLost')
      expect(lost.map(({ learner, replacedBy }) => [learner, replacedBy])).to.deep.equal([[victim, null]])
      const decisions = events.filter((event): event is PopulationEvent => event.event === 'population')
      const retreat = decisions.find(({ reason }) => reason.includes('graph: the GPU has no more memory'))
      expect(retreat).to.include({ action: 'try', from: 3, to: 2, reason: '3 learners are impossible: graph: the GPU has no more memory' })
      const after = decisions.slice(decisions.indexOf(retreat!) + 1)
      // Two learners are measured, which shows that both are there.
      expect(after).to.not.be.empty
      expect(after.every(({ to }) => to < 3)).to.equal(true)
      expect(events.at(-1)).to.include({ event: 'finished', reason: 'stopped' })
    })

  it('ends the run with what goes wrong in it', async () => {
    const engine = new URL('../fakes/undescribed-engine.js', import.meta.url)
    const job = trainWith({ ...MODEL, learners: { initial: 1, max: 3, window: 0.004 }, until: { epochs: 10_000 } }, { engine })
    job.once('progress', () => (description.fails = true))
    try {
      expect(await rejection(job.finished)).to.have.property('message', 'told to fail')
    } finally {
      description.fails = false
    }
  })

  it('is left alone where it is short, and says so', async () => {
    const events = await eventsOf(trainWith({ ...MODEL, learners: { window: 0.02 }, until: { steps: 1500 } }, {}))
    const decisions = events.filter((event): event is PopulationEvent => event.event === 'population')
    expect(decisions.every(({ from, to, reason }) => from === to && /too short|pays above/.test(reason))).to.equal(true)
    expect((events.at(-1) as FinishedEvent).population).to.have.length(1)
  })
})
