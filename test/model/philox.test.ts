import { expect } from 'chai'
import { keyOf, philox, type Words2, type Words4 } from '../../src/model/philox.js'

// The known answers that come with Random123, the reference implementation.
const KNOWN: readonly [Words4, Words2, Words4][] = [
  [
    [0, 0, 0, 0],
    [0, 0],
    [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
  ],
  [
    [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
    [0xffffffff, 0xffffffff],
    [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]
  ],
  [
    [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
    [0xa4093822, 0x299f31d0],
    [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
  ]
]

describe('philox', () => {
  for (const [counter, key, words] of KNOWN)
    it(`gives the known answer for counter ${counter[0].toString(16)}`, () => {
      expect(philox(key, counter)).to.deep.equal(words)
    })

  it('takes all 53 bits of a seed', () => {
    expect(keyOf(2 ** 53 - 1)).to.deep.equal([0xffffffff, 0x1fffff])
    expect(keyOf(7)).to.deep.equal([7, 0])
  })
})
