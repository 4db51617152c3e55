import { getEventListeners } from 'node:events'
import { expect } from 'chai'
import { refused } from '../support/codes.js'
import { rejection } from '../support/rejection.js'
import { warningsIn } from '../support/warnings.js'
import type { EvaluatedEvent } from '../../src/observe/events.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import type { Job } from '../../src/run/job.js'
import { trainWith } from '../../src/run/train.js'
import { FAKES, tinyData, tinyModel } from '../fakes/job.js'

const start = (options: Partial<TrainOptions>) =>
  trainWith({ model: tinyModel(), data: tinyData(), learners: 2, batch: 4, ...options }, FAKES)

describe('a training job that is watched', () => {
  it('ends at the measurement after which it is told to, which it waits for', async () => {
    const seen: EvaluatedEvent[] = []
    const job = start({
      until: { epochs: 50 },
      async onEvaluated(event) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        return seen.push(event) === 3 ? 'stop' : undefined
      }
    })
    const finished = await job.finished
    expect(finished).to.include({ reason: 'stopped', iterations: seen.at(-1)!.iteration })
    expect(seen).to.have.length(3)
  })

  it('fails with what its watcher throws', async () => {
    const fault = new RangeError('a fault of the user’s')
    const job = start({
      until: { epochs: 2 },
      onEvaluated() {
        throw fault
      }
    })
    expect(await rejection(job.finished)).to.equal(fault)
  })

  it('fails with what its watcher throws, also where that has no text', async () => {
    const get = () => {
      throw new Error('trap')
    }
    const throwing = (thrown: unknown) =>
      start({ until: { epochs: 2 }, onEvaluated: () => Promise.resolve().then(() => { throw thrown }) }) // prettier-ignore
    for (const thrown of [Object.create(null) as object, new Proxy({}, { get })]) {
      const [outcome] = await Promise.allSettled([throwing(thrown).finished])
      expect(outcome.status === 'rejected' && outcome.reason === thrown).to.equal(true)
    }
    expect(await rejection(throwing(undefined).finished))
      .to.be.an('error')
      .that.has.property('cause', undefined)
  })

  it('may share its signal with any number of others', async () => {
    const { signal } = new AbortController()
    const warnings = await warningsIn(async () => {
      for (const job of Array.from({ length: 12 }, () => start({ until: { steps: 1 }, learners: 1, signal }))) await job.finished
    })
    expect(warnings).to.deep.equal([])
    expect(getEventListeners(signal, 'abort')).to.have.length(0)
  })

  it('ends when it is stopped, also while its watcher never answers', async () => {
    const job = start({ until: { epochs: 1_000_000 }, onEvaluated: () => new Promise(() => {}) })
    await new Promise((resolve) => job.once('evaluated', resolve))
    job.stop()
    const { reason, iterations } = await job.finished
    expect(reason).to.equal('stopped')
    expect(iterations).to.be.above(0)
  })

  it('waits a moment for its watcher where it was stopped before', async () => {
    const answered: number[] = []
    const job = start({
      until: { epochs: 1_000_000 },
      async onEvaluated({ iteration }) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        answered.push(iteration)
      }
    })
    job.once('progress', () => job.stop())
    job.once('evaluated', () => job.stop())
    const { iterations } = await job.finished
    expect(answered.at(-1)).to.equal(iterations)
  })

  it('makes the changes that its watcher asks for and waits for', async () => {
    const rates: number[] = []
    const job: Job = start({
      until: { epochs: 3 },
      optimiser: { learningRate: 0.1, milestones: [] },
      async onEvaluated({ iteration }) {
        if (rates.length > 0) return
        const { synchroniser, supervisor, evaluator } = job.actors
        const place = await synchroniser.ask.set({ learningRate: { factor: 0.5 } })
        expect(place.iteration).to.equal(iteration)
        await synchroniser.ask.pause()
        await supervisor.ask.resize(3)
        await evaluator.ask.measure()
        await synchroniser.ask.resume()
        rates.push((await synchroniser.ask.status()).learningRate)
      }
    })
    const { interventions, learners, reason } = await job.finished
    expect({ reason, learners }).to.deep.equal({ reason: 'completed', learners: 3 })
    expect(rates.map((rate) => Number(rate.toPrecision(6)))).to.deep.equal([0.05])
    expect(interventions?.map(({ kind }) => kind)).to.deep.equal(['set', 'pause', 'resize', 'measure'])
  })

  it('fails where its watcher does not answer in time', async () => {
    const job = start({ until: { epochs: 2 }, onEvaluated: () => new Promise(() => {}), onEvaluatedDeadline: 50 })
    await refused('DEADLINE_EXCEEDED', () => job.finished, 'onEvaluated', '50 ms', 'onEvaluatedDeadline')
    await refused('INVALID_OPTION', () => start({ onEvaluated: () => {}, onEvaluatedDeadline: 0 }), 'onEvaluatedDeadline', 'above 0')
    await refused(
      'INVALID_OPTION',
      () => start({ onEvaluatedDeadline: 50 }),
      'onEvaluatedDeadline: received 50',
      'together with onEvaluated'
    )
  })

  it('ends when it is good enough, and says so', async () => {
    const { reason, testLoss, epochs } = await start({ until: { epochs: 500, loss: 0.4 } }).finished
    expect(reason).to.equal('loss')
    expect(testLoss).to.be.at.most(0.4)
    expect(epochs).to.be.below(500)
  })

  it('ends when its time is up', async () => {
    const { reason, seconds } = await start({ until: { seconds: 0.3, epochs: 1_000_000 } }).finished
    expect(reason).to.equal('seconds')
    expect(seconds).to.be.within(0.3, 5)
  })

  it('keeps the best model where it is told to, which is then measured, hashed and given', async () => {
    // Steps of such a length go back and forth around the best weights, ever farther away.
    const worse: Partial<TrainOptions> = { until: { epochs: 4 }, optimiser: { learningRate: 2.05, milestones: [] } }
    const losses: number[] = []
    const job = start({ ...worse, keep: 'best', onEvaluated: ({ testLoss }) => void losses.push(testLoss) })
    const best = await job.finished
    const last = await start({ ...worse, keep: 'last' }).finished
    expect(losses.at(-1)).to.be.above(losses[0]!)
    expect(best).to.include({ testLoss: Math.min(...losses), iterations: last.iterations, reason: 'completed' })
    expect(best.keptIteration).to.be.below(best.iterations)
    expect(last).to.include({ testLoss: losses.at(-1), keptIteration: last.iterations })
    expect(best.weightsSha256).to.not.equal(last.weightsSha256)
    const mean = Object.values(await job.model.weights()).flatMap(({ data }) => [...data]).reduce((sum, weight, _, { length }) => sum + (weight - 1) ** 2 / (2 * length), 0) // prettier-ignore
    expect(mean).to.be.closeTo(best.testLoss, 1e-5)
  })
})
