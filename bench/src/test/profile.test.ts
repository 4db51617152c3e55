import { expect } from 'chai'
import { runLearners } from '../profile.js'

describe('A profile', function () {
  this.timeout(60_000)

  it('is of the seconds that were asked for, after threads have started and are warm', async () => {
    const reports = await runLearners({ name: 'lenet b4 k2 f32', model: 'lenet', batch: 4, learners: 2, precision: 'f32' }, 0.1)
    expect(reports).to.have.lengthOf(2)
    for (const { steps, busySeconds, operators } of reports) {
      expect(steps).to.be.above(0)
      expect(busySeconds).to.be.above(0)
      expect(operators.some(({ runs }) => runs > 0)).to.equal(true)
    }
  })
})
