import { expect } from 'chai'
import { engine } from '../internals.js'
import { LearnerGroup } from '../learner-group.js'
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

  it('leaves nothing of a case in the memory of the engine', () => {
    const one = new LearnerGroup({ model: 'lenet', batch: 4, precision: 'f32' })
    const { group, program, dataset, layout } = one.parts
    const replica = engine.createReplica({ backend: 'cpu', layout, threads: 1, seed: 1 })
    const other = engine.createProgram(one.step)
    one[Symbol.dispose]()
    expect(() => engine.readCentral(group))
      .to.throw()
      .with.property('code', 'STALE_HANDLE')
    expect(() => engine.bind(replica, program))
      .to.throw()
      .with.property('code', 'STALE_HANDLE')
    expect(() => engine.bind(replica, other, dataset))
      .to.throw()
      .with.property('code', 'STALE_HANDLE')
    for (const own of [replica, other]) engine.release(own)
  })
})
