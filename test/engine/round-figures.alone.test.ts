import { expect } from 'chai'
import { engine } from '../../src/engine/native.js'
import { sma } from '../../src/rules/sma.js'
import { GroupRun } from './support/group-run.js'
import { randomSamples, smallTraining } from './support/small-training.js'

const STEPS = 500

describe('the figures of rounds', () => {
  it('cost a step no more once the newest 4096 are kept', () => {
    const { program, initial } = smallTraining('cpu', { momentum: 0.9, weightDecay: 0 })
    const run = new GroupRun(program, randomSamples(300), { initial, rule: sma({}, { learners: 1 }) }).add(0)
    engine.roundFigures(run.group, -1)
    const { replica, slot } = run.replicas.get(0)!
    /** Microseconds of the processor a step. */
    const cost = (): number => {
      const before = process.cpuUsage()
      for (let done = 0; done < STEPS;) done += engine.run(replica, slot, { steps: STEPS - done, milliseconds: 1000 }).steps
      const { user, system } = process.cpuUsage(before)
      return (user + system) / STEPS
    }
    const costs = Array.from({ length: 16 }, cost)
    expect(engine.roundFigures(run.group, -1)).to.have.lengthOf(4096)
    const [first, last] = [costs.slice(1, 4), costs.slice(-3)].map((some) => Math.min(...some))
    expect(last).to.be.below(2 * first!)
    run.release()
  })
})
