import { expect } from 'chai'
import { trainingProgram } from '../flops-per-image.js'
import { geepsRule } from '../geeps.js'
import { restorationOf, type Program } from '../internals.js'

const speed = { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 }
const transfers = { storeBytesPerSecond: 1e9, fetchBytesPerSecond: 1e9, bothWays: false }

const whole = trainingProgram('resnet20', 8, 'f32').arenas.activations

function limited(part: number): Program {
  return trainingProgram('resnet20', 8, 'f32', { limit: { activations: part * whole, speed, transfers, rule: geepsRule } })
}

describe('the rule of GeePS', () => {
  it('moves values and computes nothing again', () => {
    const program = limited(0.75)
    const { recomputedBytes, movedBytes } = restorationOf(program, { speed, transfers, updateBytes: 0 })
    expect(program.arenas.activations).to.be.at.most(0.75 * whole)
    expect(recomputedBytes).to.equal(0)
    expect(movedBytes).to.be.above(0)
  })

  it('moves more the less memory there is', () => {
    const moved = [0.9, 0.75].map((part) => limited(part).arenas.staged)
    expect(moved[1]).to.be.above(moved[0]!)
  })

  it('refuses less than twice the largest operator', () => {
    expect(() => limited(0.3)).to.throw('resnet20 takes at least')
  })
})
