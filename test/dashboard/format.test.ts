import { expect } from 'chai'
import { axisText, numberText, rateText, shortText } from '../../src/dashboard/page/format.js'

describe('numbers of the page', () => {
  it('have three or four digits and are never long', () => {
    expect([4.864912256547355e23, 12_345.6, 12.3456, 0.0123456, 1e-7, 0, null].map(numberText)).to.deep.equal([
      '4.86e+23',
      '12,346',
      '12.35',
      '0.0123',
      '1.0e-7',
      '0',
      '–'
    ])
    expect([0.02, 1e-5, 1234.5].map(shortText)).to.deep.equal(['0.02', '0.00001', '1,235'])
    expect([0.3251, 12.04, 931.2, 19_657.3, null].map(rateText)).to.deep.equal(['0.325', '12', '931', '19,657', '–'])
  })

  it('of an axis are exact where its marks are close together', () => {
    expect([0.1025, 0.105, 0.30000000000000004, 12_500, -0, 5e23, 0.00002].map(axisText)).to.deep.equal([
      '0.1025',
      '0.105',
      '0.3',
      '12,500',
      '0',
      '5e+23',
      '2e-5'
    ])
  })
})
