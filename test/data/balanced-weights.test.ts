import { expect } from 'chai'
import { balancedPositiveWeights, balancedWeights } from '../../src/data/balanced-weights.js'
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

describe('balanced weights of what holds', () => {
  const weightsOf = (target: number[], targets: number[]): number[] =>
    balancedPositiveWeights({
      name: 'few',
      train: { count: 4, sample: [1], samples: new Uint8Array(4), target, targets: Float32Array.from(targets) }
    })

  it('are the elements that do not hold, to one that holds, of each label; 1 where none does', () => {
    expect(weightsOf([3], [1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0.5])).to.deep.equal([1 / 3, 1, 2.5 / 1.5])
    // Of images, by channel.
    expect(weightsOf([2, 1, 2], [1, 0, 0, 0, 0, 0, 1, 0])).to.deep.equal([3, 3])
  })

  it('are refused where there are no targets', () =>
    refused(
      'INVALID_OPTION',
      () => balancedPositiveWeights({ name: 'few', train: { count: 4, sample: [1], samples: new Uint8Array(4) } }),
      'positiveWeights: received "balanced"',
      'samples of few have no targets'
    ))
})
