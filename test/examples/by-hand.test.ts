import { expect } from 'chai'
import { trainByHand } from '../../examples/by-hand/train-by-hand.js'
import { openDataset } from '../../src/data/open.js'
import { train } from '../../src/index.js'
import { flatten, linear, relu, defineModel } from '../../src/model/layers.js'

describe('the example that wires the actors by hand', () => {
  it('ends with the weights that `train` ends with', async () => {
    const data = await openDataset('digits', { samples: 1000 })
    const model = defineModel({ name: 'small', input: data.sample, layers: [flatten(), linear(16), relu(), linear(10)] })
    const byHand = await trainByHand(model, data)
    const whole = train({
      model,
      data,
      backend: 'cpu',
      learners: 2,
      batch: 8,
      optimiser: { learningRate: 0.1, momentum: 0.9, weightDecay: 0.0001, milestones: [] },
      until: { steps: 200 },
      interventions: [{ kind: 'set', round: 100, iteration: 100, learningRate: { factor: 0.5 } }]
    })
    const { weightsSha256, testAccuracy } = await whole.finished
    expect(byHand.losses).to.have.length(200)
    expect(byHand).to.include({ weightsSha256, testAccuracy })
  })
})
