import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ArbalestError } from '../../../src/errors.js'
import { loadModel } from '../../../src/trained/load-model.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import type { Dataset } from '../../../src/data/dataset.js'
import { leave } from '../../fakes/leaving-host.js'
import { refused } from '../../support/codes.js'
import { eventsOf, SHORT, together } from './support/together.js'

const engine = new URL('../../fakes/leaving-host.js', import.meta.url)

/** The last one of three hosts leaves once a round is whole: the losses of an iteration are told before it is summed. */
function losing(options: TrainOptions, shrinks = true) {
  const jobs = together(options, { size: 3, engine, shrinks })
  for (const job of jobs) job.finished.catch(() => {})
  let hasLeft = false
  jobs[0]!.on('progress', ({ iteration }) => {
    if (iteration < 2 || hasLeft) return
    hasLeft = true
    leave()
  })
  return jobs
}

describe('A run over hosts, one of which is lost', () => {
  it('goes on without it and its learners where the link can', async () => {
    const jobs = losing({ ...SHORT, learners: 6, until: { steps: 300 } })
    const lost = refused('HOST_LOST', () => jobs[2]!.finished)
    const events = await eventsOf(jobs[0]!)
    await lost
    const loss = events.find(({ event }) => event === 'hostLost') as Extract<(typeof events)[number], { event: 'hostLost' }>
    expect(loss).to.include({ host: 2, reason: 'it has gone', hosts: 2, learners: 4 })
    const [first, second] = await Promise.all(jobs.slice(0, 2).map(({ finished }) => finished))
    expect(first).to.include({ reason: 'completed', hosts: 2, learners: 4, iterations: 300 })
    expect(first!.population).to.deep.equal([{ round: 0, learners: 6 }, { round: loss.round, learners: 4 }]) // prettier-ignore
    expect(second).to.deep.equal(first)
    const models = jobs.slice(0, 2).map(({ model }) => model)
    expect(await models[0]!.weights()).to.deep.equal(await models[1]!.weights())
    // The share of the lost host has been measured too.
    const { testAccuracy, testLoss } = await models[0]!.evaluate(SHORT.data as Dataset)
    expect(first!.testAccuracy).to.be.closeTo(testAccuracy!, 1e-6)
    expect(first!.testLoss).to.be.closeTo(testLoss, 1e-4)
  })

  it('takes a checkpoint again without a host that is lost while its learners are copied', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'arbalest-lost-host-'))
    try {
      const checkpoint = { dir }
      const leaving = new URL('?at=capture', engine)
      const jobs = together({ ...SHORT, learners: 6, until: { steps: 200 }, checkpoint }, { size: 3, engine: leaving, shrinks: true })
      for (const job of jobs) job.finished.catch(() => {})
      const events = await eventsOf(jobs[0]!)
      const loss = events.find(({ event }) => event === 'hostLost') as Extract<(typeof events)[number], { event: 'hostLost' }>
      expect(loss).to.include({ host: 2, learners: 4 })
      const first = events.find(({ event }) => event === 'checkpoint')
      expect(first).to.include({ iteration: loss.iteration, code: null }).and.to.have.property('folder').that.is.a('string')
      expect(events.at(-1)).to.include({ event: 'finished', iterations: 200, hosts: 2, checkpoints: 'complete' })
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('has its outcome where the host is lost after the last measurement', async () => {
    const jobs = together({ ...SHORT, learners: 6, until: { steps: 30 } }, { size: 3, engine })
    for (const job of jobs) job.finished.catch(() => {})
    jobs[0]!.on('evaluated', ({ iteration }) => iteration === 30 && leave())
    expect(await jobs[0]!.finished).to.include({ reason: 'completed', iterations: 30 })
    await refused('HOST_LOST', () => jobs[2]!.finished)
    await Promise.allSettled(jobs.map(({ finished }) => finished))
  })

  it('ends with HOST_LOST where the link cannot, and the first host saves the central model', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'arbalest-lost-host-'))
    try {
      const jobs = losing({ ...SHORT, learners: 6, until: { steps: 100_000 }, checkpoint: { dir } }, false)
      for (const job of jobs) await refused('HOST_LOST', () => job.finished)
      const { message, data } = (await jobs[0]!.finished.catch((error: unknown) => error)) as ArbalestError
      const { file, round } = data as { file: string; round: number }
      expect(message).to.include(`the central model of round ${round} is in ${file}`)
      const model = await loadModel(file)
      expect((await model.evaluate(SHORT.data as Dataset)).testLoss).below(3)
      expect(round).above(0)
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})
