import { expect } from 'chai'
import { bestSteadyAccuracy, firstCrossing, reachedAt } from '../../tta/target.js'

const curve = (...accuracies: readonly number[]) => accuracies.map((accuracy, i) => ({ epoch: i + 1, accuracy }))

describe('the target of a run', () => {
  it('is reached where the median of the last five evaluations is at least the target', () => {
    expect(reachedAt(curve(0.5, 0.8, 0.9, 0.9, 0.9), 0.9)).to.deep.equal({ epoch: 5, accuracy: 0.9 })
    expect(reachedAt(curve(0.95, 0.1, 0.1, 0.95, 0.1, 0.95, 0.1, 0.95), 0.9)?.epoch).to.equal(8)
    expect(reachedAt(curve(0.5, 0.91, 0.5, 0.91, 0.5, 0.5, 0.5), 0.9)).to.equal(undefined)
  })

  it('is never reached before five evaluations', () => {
    expect(reachedAt(curve(0.99, 0.99, 0.99, 0.99), 0.9)).to.equal(undefined)
    expect(reachedAt(curve(0.99, 0.99, 0.99, 0.99, 0.99), 0.9)?.epoch).to.equal(5)
  })

  it('is first crossed by a single evaluation', () => {
    expect(firstCrossing(curve(0.5, 0.91, 0.5), 0.9)?.epoch).to.equal(2)
    expect(firstCrossing(curve(0.5), 0.9)).to.equal(undefined)
  })

  it('missed by a run that came near is told by its best median', () => {
    expect(bestSteadyAccuracy(curve(0.1, 0.8, 0.85, 0.86, 0.99, 0.2, 0.1, 0.1))).to.equal(0.85)
    expect(bestSteadyAccuracy([])).to.equal(0)
  })
})
