import { expect } from 'chai'
import { join } from 'node:path'
import { Folder } from '../data/support/files.js'
import { seeded } from '../../src/runtime/testkit/seeded-dispatcher.js'
import { countOf } from '../support/count.js'
import { killedRun, undisturbedHash, WRITTEN, type Moment } from './support/killed-run.js'

const RUNS = countOf('ARBALEST_SOAK_KILLED_RUNS', 100)

describe(`arbalest train, ${RUNS} runs killed at random moments and started again`, function () {
  this.timeout(3_600_000)

  it('all end with the weights of the undisturbed run', async () => {
    await using folder = await Folder.make()
    const random = seeded(1)
    const undisturbed = await undisturbedHash()
    // Before the first step, while it trains and writes, or at its end.
    const moment = (): Moment => ({ ...(random() < 0.8 && { said: random() < 0.5 ? '"started"' : WRITTEN }), wait: 1000 * random() })
    let [killed, resumed] = [0, 0]
    for (let i = 0; i < RUNS; i++) {
      const run = await killedRun(join(folder.path, String(i)), [moment(), moment(), moment()])
      expect(run.hash, `run ${i}`).to.equal(undisturbed)
      killed += run.killed
      if (run.resumed) resumed++
    }
    // Most were killed more than once, and not all before their first step.
    expect(killed).to.be.greaterThan(RUNS)
    expect(resumed).to.be.greaterThan(RUNS / 4)
  })
})
