import { expect } from 'chai'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { refused } from '../../support/codes.js'
import { atRest, someRoundsLater } from '../support/talked-to.js'
import { alone, ends, eventsOf, SHORT, together } from './support/together.js'

const LONG: TrainOptions = { ...SHORT, optimiser: { schedule: 'constant' }, until: { steps: 400 } }
const WARM: TrainOptions = { ...LONG, learner: new URL('../../fakes/warm-learner.js', import.meta.url), learnerOptions: { temperature: 1 } }

interface Warm {
  warm(by: number): number
}

describe('A run over hosts that programs talk to', function () {
  this.timeout(300_000)

  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest-hosts-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('is changed through any of its hosts, and repeated and resumed bit for bit', async () => {
    const until = { steps: 800 }
    const jobs = together({ ...WARM, until, checkpoint: { dir: join(folder, 'run') } })
    const { actors } = jobs[0]!
    await atRest(jobs[0]!, 20, async () => {
      await actors.synchroniser.ask.set({ learningRate: { factor: 0.5 }, period: 2, momentum: 0.3 })
      // Places 1 and 3 are those of the second host.
      expect(await actors.learner<Warm>(1).ask.warm(0.25)).to.equal(1.25)
      await actors.supervisor.ask.resize(6)
      await actors.supervisor.ask.replace(3)
      const { places } = await actors.supervisor.ask.population()
      expect(places.map(({ place, learner }) => [place, learner])).to.deep.equal([
        [0, 0],
        [1, 1],
        [2, 2],
        [3, 7],
        [4, 4],
        [5, 5]
      ])
    })
    await someRoundsLater(jobs[0]!, 20)
    expect(await jobs[1]!.actors.learner<Warm>(4).ask.warm(0.5)).to.equal(1.5)
    const measured = await jobs[1]!.actors.evaluator.ask.measure()
    expect(measured.testAccuracy).to.be.within(0, 1)
    const { round } = await jobs[1]!.actors.supervisor.ask.resize(5)
    jobs[1]!.stop()
    const { interventions = [], iterations } = (await ends(jobs))[0]!
    expect(iterations).to.be.within(2 * round - 100, 799)
    expect(interventions.map(({ kind }) => kind)).to.deep.equal([
      'pause',
      'set',
      'message',
      'resize',
      'replace',
      'message',
      'measure',
      'resize'
    ])
    const [resumed] = await ends(together({ ...WARM, until, checkpoint: { dir: join(folder, 'run') } }))
    const [repeated] = await ends(together({ ...WARM, until, interventions }))
    expect(repeated).to.include({ learners: 5, iterations: 800, weightsSha256: resumed!.weightsSha256 })
    expect(repeated!.interventions).to.deep.equal(interventions)
  })

  it('saves a checkpoint of all hosts for a program on any of them, from which it goes on bit for bit', async () => {
    const options: TrainOptions = { ...LONG, evaluateEvery: 1e9 }
    const dir = join(folder, 'saved')
    const jobs = together({ ...options, checkpoint: { dir, keep: 20 } })
    await someRoundsLater(jobs[0]!, 20)
    const saved = await jobs[1]!.actors.checkpoints.ask.save()
    expect(saved.startsWith(join(dir, 'checkpoint-'))).to.equal(true)
    // The states of both hosts' learners.
    expect(readdirSync(saved).filter((name) => name.startsWith('learner-'))).to.have.length(4)
    jobs[1]!.stop()
    const iteration = Number(/checkpoint-(\d+)$/.exec(saved)![1])
    const [stopped] = await ends(jobs)
    expect(stopped!.iterations).to.be.within(iteration, 399)
    for (const name of readdirSync(dir))
      if (name.startsWith('checkpoint-') && join(dir, name) !== saved) rmSync(join(dir, name), { recursive: true })
    const resumed = together({ ...options, checkpoint: { dir } })
    const events = await eventsOf(resumed[0]!)
    expect(events.find(({ event }) => event === 'resumed')).to.include({ iteration })
    const [whole] = await ends(together(options))
    expect(events.at(-1)).to.include({ event: 'finished', weightsSha256: whole!.weightsSha256 })
  })

  it('tells of each round what all learners did', async () => {
    const jobs = together(LONG)
    const rounds = []
    for await (const figures of jobs[0]!.actors.synchroniser.rounds()) rounds.push(figures)
    expect(rounds.length).above(10)
    for (const { members, loss } of rounds) {
      expect(members.map(({ learner }) => learner)).to.deep.equal([0, 1, 2, 3])
      expect(loss).to.be.above(0)
    }
    const numbers = rounds.map(({ round }) => round)
    expect(numbers).to.deep.equal(numbers.map((_, i) => numbers[0]! + i))
  })

  it('rests at the rounds at which one process rests, however near they are', async () => {
    const options: TrainOptions = { ...SHORT, until: { steps: 12 } }
    const checkpoint = { dir: join(folder, 'near'), period: 1, keep: 20 }
    const [first] = await ends(together({ ...options, checkpoint }))
    const one = await alone({ ...options, devices: 2, checkpoint: { ...checkpoint, dir: join(folder, 'one') } })
    expect(first!.weightsSha256).to.equal(one.weightsSha256)
    expect(first!.checkpoints).to.equal('complete')
  })

  it('has the number of its learners tuned, and is repeated with their schedule', async () => {
    const options: TrainOptions = { ...LONG, evaluateEvery: 1e9 }
    const jobs = together({ ...options, until: { steps: 10_000_000 }, learners: { initial: 1, max: 3, window: 0.05 } })
    await new Promise<void>((resolve) => {
      jobs[0]!.on('population', ({ from, to }) => {
        if (from !== to) resolve()
      })
    })
    await someRoundsLater(jobs[0]!, 20)
    jobs[0]!.stop()
    const [tuned] = await ends(jobs)
    expect(tuned!.population.length).above(1)
    expect(tuned!.population.every(({ learners }) => learners % 2 === 0)).to.equal(true)
    const until = { steps: tuned!.iterations }
    const [repeated] = await ends(together({ ...options, until, learners: { schedule: tuned!.population } }))
    expect(repeated).to.include({ weightsSha256: tuned!.weightsSha256, learners: tuned!.learners })
  })

  it('refuses what cannot be, and goes on', async () => {
    const jobs = together(LONG)
    const { supervisor, learner } = jobs[1]!.actors
    await refused('INVALID_OPTION', () => supervisor.ask.resize(1), 'learners: received 1', 'at least 2')
    await refused('INVALID_OPTION', () => supervisor.ask.replace(4), 'place')
    await refused('UNKNOWN_NAME', () => (learner(3) as never as { ask: { fly(): Promise<void> } }).ask.fly(), 'fly')
    expect((await ends(jobs))[0]).to.include({ iterations: 400, learners: 4 })
  })
})
