import { expect } from 'chai'
import { atOnce, inTurns, mapInPieces, type Pieces } from '../src/turns.js'
import { rejection } from './support/rejection.js'

function* pieces(count: number, milliseconds = 0): Pieces<string> {
  for (let i = 0; i < count; i++) {
    for (const until = performance.now() + milliseconds; performance.now() < until;);
    yield
  }
  return 'done'
}

describe('Work in pieces', () => {
  it('has the same result at once and in turns', async () => {
    expect(atOnce(pieces(3))).to.equal('done')
    expect(await inTurns(pieces(3))).to.equal('done')
    expect(atOnce(mapInPieces([1, 2, 3], (n) => 2 * n))).to.deep.equal([2, 4, 6])
  })

  it('lets the event loop turn, after each piece where it is told to', async () => {
    let turns = 0
    const check = () => void turns++
    await inTurns(pieces(100), { slice: 0, check })
    expect(turns).to.equal(100)
    let timers = 0
    const timer = setInterval(() => timers++, 1)
    await inTurns(pieces(30, 4)).finally(() => clearInterval(timer))
    expect(timers).to.be.at.least(3)
  })

  it('takes no turn if it is short', async () => {
    let turns = 0
    await inTurns(pieces(3), { check: () => void turns++ })
    expect(turns).to.equal(0)
  })

  it('is given up where the check throws', async () => {
    const fault = new Error('enough')
    let done = 0
    const check = () => {
      if (done === 2) throw fault
    }
    expect(await rejection(inTurns(mapInPieces([1, 2, 3, 4], () => done++), { slice: 0, check }))).to.equal(fault) // prettier-ignore
    expect(done).to.equal(2)
  })
})
