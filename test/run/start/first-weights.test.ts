import { expect } from 'chai'
import { defineModel, linear } from '../../../src/model/layers.js'
import { firstWeights } from '../../../src/run/start/first-weights.js'

describe('first weights', () => {
  it('leave the caller’s event loop its turns while they are drawn', async () => {
    const model = defineModel({ name: 'wide', input: [1000], layers: [linear(1000), linear(3)] })
    let turns = 0
    const beat = setInterval(() => turns++, 0)
    const weights = await firstWeights(model, { seed: 1 })
    clearInterval(beat)
    expect(weights.length).to.equal(1_001_000 + 3003)
    // Drawn at one go they would leave none.
    expect(turns).to.be.greaterThan(5)
  })
})
