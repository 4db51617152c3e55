import { expect } from 'chai'
import { train } from '../../src/run/train.js'
import { requireData } from '../support/data.js'

describe('a GPT on tinyshakespeare', function () {
  this.timeout(30 * 60_000)

  it("reaches a test loss below 1.8 nats a character and writes in the plays' form", async function () {
    const dataDir = requireData(this, 'tinyshakespeare')
    const job = train({
      model: 'gpt',
      data: 'tinyshakespeare',
      dataDir,
      context: 64,
      learners: 2,
      batch: 8,
      optimiser: { name: 'adamw', learningRate: 0.002, milestones: [2] },
      until: { epochs: 3 },
      seed: 1
    })
    const { testLoss } = await job.finished
    expect(testLoss).to.be.below(1.8)
    const written = await job.model.generate('ROMEO:\n', { length: 400, temperature: 0.8, seed: 1 })
    expect(written)
      .to.have.lengthOf(400)
      .and.to.match(/\n\n[A-Z][A-Za-z ]+:\n/)
  })
})
