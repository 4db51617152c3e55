import { expect } from 'chai'
import type { FinishedEvent, JobEvent, PopulationEvent } from '../../src/observe/events.js'
import type { RunModules } from '../../src/run/run-modules.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { trainWith } from '../../src/run/train.js'
import { description } from '../fakes/undescribed-engine.js'
import { eventsOf } from '../support/events.js'
import { rejection } from '../support/rejection.js'

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
    // The run goes on being tuned until it has stopped; a change in its last round is none.
    const changes = decisions.filter(({ from, to, round }) => from !== to && round < iterations)
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
