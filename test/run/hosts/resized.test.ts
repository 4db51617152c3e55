import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { refused } from '../../support/codes.js'
import { someRoundsLater } from '../support/talked-to.js'
import { alone, ends, SHORT, together } from './support/together.js'

describe('A run that goes on from a checkpoint on other hosts', () => {
  let checkpoint: { readonly dir: string }
  beforeEach(() => (checkpoint = { dir: mkdtempSync(join(tmpdir(), 'arbalest-resized-')) }))
  afterEach(() => rmSync(checkpoint.dir, { recursive: true }))

  it('has a learner on each, if their number is tuned and the run had fewer', async () => {
    const options: TrainOptions = { ...SHORT, learners: { initial: 2, max: 2 }, checkpoint }
    expect(await alone({ ...options, until: { steps: 15 } })).to.include({ learners: 2, iterations: 15 })
    const [first, ...others] = await ends(together({ ...options, evaluateEvery: 0.2 }, { size: 3 }))
    expect(first).to.include({ learners: 3, hosts: 3, iterations: 30 })
    expect(first!.population).to.deep.equal([{ round: 0, learners: 2 }, { round: 15, learners: 3 }]) // prettier-ignore
    for (const other of others) expect(other).to.deep.equal(first)
  })

  it('is refused on more than it has learners, if a program has set their number', async () => {
    const options: TrainOptions = { ...SHORT, until: { steps: 1_000 }, checkpoint }
    const jobs = together(options)
    await jobs[0]!.actors.supervisor.ask.resize(2)
    jobs[0]!.stop()
    expect((await ends(jobs))[0]).to.include({ reason: 'stopped', learners: 2 })
    for (const job of together(options, { size: 3 }))
      await refused('INVALID_OPTION', () => job.finished, 'learners: received 2', 'use at most 2 hosts')
  })

  it('has the learners that its tuner found after a program had set their number', async () => {
    const options: TrainOptions = {
      ...SHORT,
      learners: { initial: 1, max: 3, window: 0.02 },
      optimiser: { schedule: 'constant' },
      until: { steps: 1_000_000 },
      evaluateEvery: 1e9,
      checkpoint
    }
    const jobs = together(options)
    const { supervisor } = jobs[0]!.actors
    await supervisor.ask.resize(2)
    const tried = new Promise<void>((resolve) => jobs[0]!.on('population', ({ to }) => to > 2 && resolve()))
    await supervisor.ask.tuning(true)
    await tried
    await supervisor.ask.tuning(false)
    await someRoundsLater(jobs[0]!, 5)
    jobs[0]!.stop()
    const [stopped] = await ends(jobs)
    expect(stopped!.learners).above(2)
    const resumed = together(options)
    expect((await resumed[0]!.actors.supervisor.ask.population()).places).to.have.length(stopped!.learners)
    resumed[1]!.stop()
    await ends(resumed)
  })
})
