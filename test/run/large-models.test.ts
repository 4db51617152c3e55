import { expect } from 'chai'
import { ifSeldom } from '../support/seldom.js'
import { stepsOf } from './support/large-model.js'

describe('the models for photographs', function () {
  this.timeout(300_000)

  for (const [model, side] of [
    ...ifSeldom(['resnet50', 224] as const),
    ['resnet18', 64],
    ['vgg16', 32],
    ['mobilenet_v2', 32],
    ['alexnet', 63]
  ] as const)
    it(`${model} trains by name on images of ${side} pixels a side`, async () => {
      const { iterations, testLoss, testAccuracy } = await stepsOf(model, side)
      expect(iterations).to.equal(2)
      expect(testLoss).to.be.above(0).and.below(1000)
      expect(testAccuracy).to.be.within(0, 1)
    })
})
