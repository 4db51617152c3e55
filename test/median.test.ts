import { expect } from 'chai'
import { median } from '../src/median.js'

describe('the median', () => {
  it('is the middle one, or the mean of the two in the middle', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3])]).to.deep.equal([2, 2.5])
    expect(median([])).to.satisfy(Number.isNaN)
  })
})
