import { modelNamed } from '../../src/model/zoo/index.js'
import { CLASSES, DEVICE, expectAsOnCpu, ofImages } from './support/device-training.js'

describe(`The CUDA backend (${DEVICE})`, () => {
  it('trains vgg16, whose weights are many, as the CPU does', function () {
    this.timeout(600_000)
    expectAsOnCpu(ofImages(modelNamed('vgg16', { input: [3, 32, 32], classes: CLASSES }), true), 1e-2)
  })
})
