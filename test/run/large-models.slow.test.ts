import { expect } from 'chai'
import { stepsOf } from './support/large-model.js'

describe('every model for photographs, on images of 224 pixels a side', function () {
  this.timeout(30 * 60_000)

  for (const model of ['alexnet', 'vgg16', 'resnet18', 'resnet34', 'resnet50', 'resnet101', 'resnet152', 'mobilenet_v2', 'inception_v3'])
    it(`${model} takes steps`, async () => {
      const { iterations, testLoss } = await stepsOf(model, 224)
      expect(iterations).to.equal(2)
      expect(testLoss).to.be.above(0).and.below(1000)
    })
})
