import { expect } from 'chai'
import { isolated, padded, rising, spanOf, valueAt } from '../../src/dashboard/page/curves.js'

describe('a curve of the page', () => {
  it('loses what its run discarded when it went back', () => {
    const x = [10, 20, 30, 40, 25, 35]
    expect(rising(x, [1, 2, null, null, 3, 4])).to.deep.equal([
      [10, 20, 25, 35],
      [1, 2, 3, 4]
    ])
    expect(rising([10, null, 10], [1, 2, 3])).to.deep.equal([[10], [3]])
  })

  it('has at a place the value of its last point, and none in a gap', () => {
    const values = [undefined, 1, undefined, null, undefined, 2, undefined]
    expect(values.map((_, i) => valueAt(values, i))).to.deep.equal([null, 1, 1, null, null, 2, 2])
  })

  it('knows values that no line reaches', () => {
    expect(isolated([1, null, undefined, 2, undefined, null, 3, undefined, 4])).to.deep.equal([0, 3])
    expect(isolated([undefined, 1, undefined])).to.deep.equal([1])
    expect(isolated([])).to.deep.equal([])
  })

  it('is seen from 0 on, or where it lies far from there', () => {
    expect(spanOf([[3, 10], [null, 25], []])).to.deep.equal([0, 25])
    expect(spanOf([[900, 1000]])).to.deep.equal([900, 1000])
    expect([spanOf([[60]]), spanOf([[0]]), spanOf([])]).to.deep.equal([
      [0, 60],
      [0, 1],
      [0, 1]
    ])
  })

  it('has room above and below, but not beyond what its values can be', () => {
    expect(padded(0.98, 0.98, [], 1)[1]).to.be.within(1, 1.01)
    expect(padded(0, 10)).to.deep.equal([0, 10.6])
    expect(padded(0.01, 2, [0])[0]).to.equal(0)
    expect(padded(-1, 1, [], 1)[0]).to.be.below(-1)
  })
})
