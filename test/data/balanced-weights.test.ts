import { expect } from 'chai'
import { balancedWeights } from '../../src/data/balanced-weights.js'
import { refused } from '../support/codes.js'

describe('balanced weights of classes', () => {
  const weightsOf = (labels: number[] | undefined, classes: number): number[] =>
    balancedWeights({
      name: 'few',
      classes,
      train: { count: 4, sample: [1], samples: new Uint8Array(4), ...(labels && { labels: Int32Array.from(labels) }) }
    })

  it('are those of scikit-learn, and 0 for a class without samples', () =>
    // compute_class_weight('balanced', classes=[0, 2], y=[0, 0, 0, 2]), for two thirds of the classes
    expect(weightsOf([0, 0, 0, 2], 3)).to.deep.equal([4 / 9, 0, 4 / 3]))

  it('leave out positions without a class', () => expect(weightsOf([0, -1, 1, 1, -1, -1], 2)).to.deep.equal([3 / 2, 3 / 4]))

  it('are refused where there are no labels', async () => {
    await refused('INVALID_OPTION', () => weightsOf(undefined, 3), 'classWeights: received "balanced"', 'samples of few have no labels')
    await refused('INVALID_OPTION', () => weightsOf(undefined, 0), 'leave it out: the targets of few are not classes')
  })
})
