import { expect } from 'chai'
import { nothingLearnt } from '../../src/run/nothing-learnt.js'
import { datasetFromArrays } from '../../src/data/from-arrays.js'

describe('A model that has learnt nothing', () => {
  const labels = Array.from({ length: 40 }, (_, i) => (i % 4 === 0 ? 1 : 0))
  const samples = Float32Array.from(labels)
  const set = { samples, labels }
  const classes = datasetFromArrays({ sample: [1], ...set, test: set, classes: 2, classNames: ['no', 'yes'] })

  it('is one that is no better than the most frequent class', () => {
    const hint = (testAccuracy: number | null) => nothingLearnt({ testAccuracy }, classes)
    expect(hint(0.75)).to.match(/^the test accuracy is not above 75\.00%, which class "no" /)
    expect(hint(0.5)).to.include('75.00%')
    expect(hint(31 / 40)).to.equal(undefined)
    expect(hint(null)).to.equal(undefined)
  })

  it('or than the mean of the targets', () => {
    const hint = (r2: number) => nothingLearnt({ testAccuracy: null, testMetrics: { r2 } }, classes)
    expect([hint(0), hint(-3)].every((text) => text?.startsWith('R2 is not above 0'))).to.equal(true)
    expect(hint(0.01)).to.equal(undefined)
  })

  it('counts the labels of positions, but for those without a class', () => {
    const tags = { samples: new Int32Array(40), labels: [...Array<number>(10).fill(-1), ...labels.slice(10)] }
    const data = datasetFromArrays({ sample: [10], label: [10], ...tags, test: tags, classes: 2, classNames: ['no', 'yes'] })
    const hint = (testAccuracy: number) => nothingLearnt({ testAccuracy }, data)
    expect(hint(23 / 30)).to.match(/^the test accuracy is not above 76\.67%, which class "no" as the answer to every position has/)
    expect(hint(24 / 30)).to.equal(undefined)
  })

  it('is not told of a model that weighs its classes', () =>
    expect(nothingLearnt({ testAccuracy: 0.5 }, classes, { classWeights: [0.5, 2] })).to.equal(undefined))

  it('is not told from test samples of one class, nor from tokens', () => {
    const one = { ...classes, test: { ...classes.test, labels: new Int32Array(40) } }
    expect(nothingLearnt({ testAccuracy: 1 }, one)).to.equal(undefined)
    const tokens = { ...classes, test: { ...classes.test, stride: 1 } }
    expect(nothingLearnt({ testAccuracy: 0.1 }, tokens)).to.equal(undefined)
  })
})
