import type { TrainOptions } from '../../src/options/train-options.js'
import { countOf } from '../support/count.js'
import { expectDeathsRepeated } from './support/deaths.js'

const STEPS = countOf('ARBALEST_DEATHS_STEPS', 1000)

const CASES: Record<string, Partial<TrainOptions>> = {
  sma: {},
  'sma in lockstep': { synchroniser: { name: 'sma', lockstep: true } },
  'sma on two devices': { devices: 2, learners: 4 },
  'local-sgd, on two devices': { synchroniser: { name: 'local-sgd', period: 3 }, devices: 2, learners: 4 },
  'ssgd, which brings gradients while backward runs': { synchroniser: { name: 'ssgd' }, learners: 3 },
  diloco: { synchroniser: { name: 'diloco', period: 5 } }
}

describe('runs whose learners die at random all the time', () => {
  for (const [what, options] of Object.entries(CASES))
    it(`are repeated bit for bit with their records: ${what}`, () => expectDeathsRepeated(options, { steps: STEPS, life: 30 })).timeout(
      3_600_000
    )
})
