import { expect } from 'chai'
import { measureMemorySpeed } from '../../src/engine/memory-speed.js'

/** As a thread sees it that has its core for 4 milliseconds of 44. */
function interrupted(): number {
  const ran = performance.now()
  return ran + 40 * Math.floor(ran / 4)
}

describe('the speed of memory', () => {
  it('is that of the memory, also where other processes have the core most of the time', () => {
    const [alone, busy] = [measureMemorySpeed(), measureMemorySpeed(interrupted)]
    for (const speed of ['bytesPerSecond', 'cacheBytesPerSecond'] as const) expect(busy[speed]).to.be.above(alone[speed] / 4)
  })
})
