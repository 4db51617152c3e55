import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { refused } from '../../support/codes.js'
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
})
