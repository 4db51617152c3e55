import { expect } from 'chai'
import { defaultsFor } from '../../src/training/defaults.js'
import { settingsOf } from '../../src/training/settings.js'
import { defineModel, linear, resnet } from '../../src/index.js'

describe('defaults', () => {
  it('are those of the zoo’s model, by its name, also where it was made by its function', () => {
    expect(defaultsFor('resnet50').epochs).to.equal(90)
    const own = resnet({ input: [3, 32, 32], classes: 10 }, { depth: 26 })
    expect(settingsOf({ model: own }).until.epochs).to.equal(defaultsFor('resnet20').epochs)
  })

  it('are a small network’s under any other name', () => {
    for (const name of ['resnet9', 'resnet2', 'resnet', 'resnet20d', 'own', 'constructor']) {
      const { batch, until } = settingsOf({ model: defineModel({ name, input: [4], layers: [linear(2)] }) })
      expect({ batch, epochs: until.epochs }, name).to.deep.equal({ batch: 16, epochs: 4 })
    }
  })
})
