import { expect } from 'chai'
import { giveBack } from '../../src/engine/give-back.js'
import { measureMemorySpeed } from '../../src/engine/memory-speed.js'

const held = () => process.memoryUsage().arrayBuffers

describe('numbers that nobody reads again', () => {
  it('give their memory back in the same call', () => {
    const numbers = new Float32Array(2 ** 22)
    const before = held()
    giveBack(numbers)
    expect(numbers).to.have.lengthOf(0)
    expect(before - held()).to.be.at.least(2 ** 24)
  })

  it('are not left behind where the speed of memory is measured', () => {
    const before = held()
    measureMemorySpeed()
    expect(held() - before).to.be.below(2 ** 22)
  })
})
