import { expect } from 'chai'
import { train, type FinishedEvent } from '../../src/index.js'
import { engine } from '../../src/engine/native.js'
import { requireData } from '../support/data.js'

describe('ResNet-20 on CIFAR-10 with crop and flip, after ten epochs with two learners of batch 32', function () {
  this.timeout(2 * 60 * 60 * 1000)

  const finish = (dataDir: string, precision: 'f32' | 'bf16'): Promise<FinishedEvent> =>
    train({ model: 'resnet20', data: 'cifar-10', dataDir, batch: 32, learners: 2, until: { epochs: 10 }, precision }).finished

  it('is right on 80% of the test images, in bfloat16 within 1.5 points of float32', async function () {
    const folder = requireData(this, 'cifar-10')
    const { testAccuracy } = await finish(folder, 'f32')
    expect(testAccuracy).to.be.at.least(0.8)
    const cpu = engine.describe().backends.find(({ name }) => name === 'cpu')
    if (!cpu?.precisions.includes('bf16')) return console.log('      bfloat16 is left out: this processor has no instructions for it')
    const twin = await finish(folder, 'bf16')
    expect(twin.testAccuracy).to.be.at.least(0.8)
    expect(twin.testAccuracy! - testAccuracy!).within(-0.015, 0.015)
  })
})
