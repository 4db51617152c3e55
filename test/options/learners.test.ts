import { expect } from 'chai'
import { faultsOf, type ArbalestError } from '../../src/errors.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { settingsOf } from '../../src/options/settings.js'

/** Paths of the options that are refused, and what they should be. */
function faults(learners: NonNullable<TrainOptions['learners']>): (readonly [string, string])[] {
  try {
    settingsOf({ model: 'mlp', learners })
    return []
  } catch (error) {
    return faultsOf(error as ArbalestError).map(({ path, mend }) => [path, mend])
  }
}

describe('bounds between which learners are tuned', () => {
  for (const [learners, path, mend] of [
    [{ start: 5000 }, 'learners.start', 'use a whole number from 1 to 1024'],
    [{ start: 'x' }, 'learners.start', 'use a whole number from 1 to 1024'],
    [{ start: 2.5, most: 4 }, 'learners.start', 'use a whole number from 1 to 1024'],
    [{ start: 5, most: 4 }, 'learners.start', 'use a whole number from 1 to 4'],
    [{ start: 5, most: 0 }, 'learners.most', 'use a whole number from 1 to 1024']
  ] as const)
    it(`are refused once each: ${JSON.stringify(learners)}`, () => {
      expect(faults(learners as never)).to.deep.equal([[path, mend]])
    })

  it('are taken as they are given', () => {
    expect(settingsOf({ model: 'mlp', learners: { start: 1000 } })).to.have.nested.property('population.tuning.most', 1000)
    expect(faults({ start: 2, most: 3 })).to.deep.equal([])
  })
})
