import { expect } from 'chai'
import { usableMemory } from '../../src/engine/machine.js'

describe('Usable memory', () => {
  it('is that of the first source that knows: unknown is not zero', () => {
    expect(usableMemory()).to.be.above(2 ** 20)
    expect(usableMemory([() => 0, () => 7, () => 9])).to.equal(7)
    expect(usableMemory([() => 0, () => 0])).to.equal(Infinity)
  })
})
