import { expect } from 'chai'
import { defaultsFor } from '../../src/training/defaults.js'
import { settingsOf } from '../../src/training/settings.js'
import { defineModel, linear, resnet, type TrainOptions } from '../../src/index.js'

describe('defaults', () => {
  it('are those of the zoo’s model, by its name, also where it was made by its function', () => {
    expect(defaultsFor('resnet50').epochs).to.equal(90)
    const own = resnet({ input: [3, 32, 32], classes: 10 }, { depth: 26 })
    expect(settingsOf({ model: own }).until.epochs).to.equal(defaultsFor('resnet20').epochs)
  })

  it('have a lower rate for smaller batches, and where the learners’ updates are added up', () => {
    const rateOf = (options: Partial<TrainOptions>) => settingsOf({ model: 'lenet', learners: 4, ...options }).optimiser.rate
    const { rate: usual, batch } = defaultsFor('lenet')
    const rates = (options: Partial<TrainOptions>) => (rateOf(options) as { rate: number }).rate / usual
    expect([1, 2, 0.5, 0.25].map((share) => rates({ batch: share * batch }))).to.deep.equal([1, 1, 0.5, 0.25])
    expect(['sma', 'ssgd', 'downpour', 'hogwild'].map((synchroniser) => rates({ synchroniser } as Partial<TrainOptions>))).to.deep.equal([
      1, 1, 0.25, 0.25
    ])
    expect(rates({ synchroniser: { name: 'downpour', bound: 'bsp' }, batch: batch / 2, learners: 2 })).to.equal(0.25)
    // Who says which has it, and Adam's steps do not depend on the size of the gradient.
    expect(rates({ batch: 1, synchroniser: 'downpour', optimiser: { rate: 8 * usual } })).to.equal(8)
    expect(rates({ batch: 1, optimiser: 'adam' }) * usual).to.equal(0.001)
  })

  it('are a small network’s under any other name', () => {
    for (const name of ['resnet9', 'resnet2', 'resnet', 'resnet20d', 'own', 'constructor']) {
      const { batch, until } = settingsOf({ model: defineModel({ name, input: [4], layers: [linear(2)] }) })
      expect({ batch, epochs: until.epochs }, name).to.deep.equal({ batch: 16, epochs: 4 })
    }
  })
})
