import { expect } from 'chai'
import { Job } from '../../src/run/job.js'
import { rejection } from '../support/rejection.js'
import type { FinishedEvent } from '../../src/observe/events.js'
import type { TrainedModel } from '../../src/trained/trained-model.js'

describe('A job', () => {
  const jobWith = (model: Partial<TrainedModel>) =>
    new Job(async () => ({ finished: { event: 'finished' } as FinishedEvent, model: model as TrainedModel }))

  it('predicts from the samples as they were when it was asked', async () => {
    const job = jobWith({
      predict: (batch) => Float32Array.from(batch as Uint8Array),
      classify: (batch) => [[...(batch as Uint8Array)].map((value) => ({ class: value, name: '', probability: 1 }))]
    })
    const samples = Uint8Array.of(1, 2, 3)
    const [predicted, classified] = [job.model.predict(samples), job.model.classify(samples)]
    structuredClone(samples, { transfer: [samples.buffer] })
    expect(samples).to.have.length(0)
    expect([...(await predicted)]).to.deep.equal([1, 2, 3])
    expect((await classified)[0]!.map(({ class: number }) => number)).to.deep.equal([1, 2, 3])
  })

  it('predicts from the bytes of a Buffer as they were, too', async () => {
    const job = jobWith({ predict: (batch) => Float32Array.from(batch as Uint8Array) })
    const bytes = Buffer.from([1, 2, 3])
    const predicted = job.model.predict(bytes.subarray(1))
    bytes.fill(0)
    expect([...(await predicted)]).to.deep.equal([2, 3])
  })

  it('ends by the error of an asynchronous listener, as by one that is thrown', async () => {
    const job = new Job(async ({ emit, stop }) => {
      emit({ event: 'warning', message: 'first' })
      // As a run that trains until it is stopped.
      await new Promise((resolve) => stop.addEventListener('abort', resolve))
      return { finished: { event: 'finished', reason: 'stopped' } as FinishedEvent, model: undefined }
    })
    job.on('warning', async () => {
      await Promise.resolve()
      throw new RangeError('of the listener')
    })
    expect(await rejection(job.finished)).to.be.an.instanceOf(RangeError)
  })

  it('calls listeners in their order, those of `once` once, and none that was removed', async () => {
    const heard: string[] = []
    const job = new Job(async ({ emit }) => {
      for (const message of ['1', '2']) emit({ event: 'warning', message })
      return { finished: { event: 'finished' } as FinishedEvent, model: undefined }
    })
    const removed = () => void heard.push('removed')
    job
      .on('warning', ({ message }) => void heard.push(`on ${message}`))
      .once('warning', ({ message }) => void heard.push(`once ${message}`))
      .once('warning', removed)
      .off('warning', removed)
    await job.finished
    expect(heard).to.deep.equal(['on 1', 'once 1', 'on 2'])
  })

  it('refuses a listener that is no function', () => {
    expect(() => jobWith({}).on('finished', 'log' as never))
      .to.throw('listener: received "log"; give a function')
      .with.property('code', 'INVALID_OPTION')
  })

  it('refuses listeners to events that do not exist', async () => {
    const job = jobWith({})
    for (const method of ['on', 'once'] as const)
      expect(() => job[method]('evalauted' as never, () => {}))
        .to.throw('event: received "evalauted"; use one of checkpoint, evaluated, exchange, failed')
        .with.property('code', 'UNKNOWN_NAME')
    await job.finished
  })
})
