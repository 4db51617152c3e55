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
    return faultsOf(error as ArbalestError).map(({ path, fix }) => [path, fix])
  }
}

describe('bounds between which learners are tuned', () => {
  for (const [learners, path, fix] of [
    [{ initial: 5000 }, 'learners.initial', 'use a whole number from 1 to 1024'],
    [{ initial: 'x' }, 'learners.initial', 'use a whole number from 1 to 1024'],
    [{ initial: 2.5, max: 4 }, 'learners.initial', 'use a whole number from 1 to 1024'],
    [{ initial: 5, max: 4 }, 'learners.initial', 'use a whole number from 1 to 4'],
    [{ initial: 5, max: 0 }, 'learners.max', 'use a whole number from 1 to 1024']
  ] as const)
    it(`are refused once each: ${JSON.stringify(learners)}`, () => {
      expect(faults(learners as never)).to.deep.equal([[path, fix]])
    })

  it('are taken as they are given', () => {
    expect(settingsOf({ model: 'mlp', learners: { initial: 1000 } })).to.have.nested.property('population.tuning.most', 1000)
    expect(faults({ initial: 2, max: 3 })).to.deep.equal([])
  })
})
