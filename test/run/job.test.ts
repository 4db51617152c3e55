import { expect } from 'chai'
import { Job } from '../../src/run/job.js'
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

  it('refuses listeners to events that do not exist', async () => {
    const job = jobWith({})
    for (const method of ['on', 'once'] as const)
      expect(() => job[method]('evalauted' as never, () => {}))
        .to.throw('event: received "evalauted"; use one of checkpoint, evaluated, exchange, failed')
        .with.property('code', 'UNKNOWN_NAME')
    await job.finished
  })
})
