import { expect } from 'chai'
import * as fc from 'fast-check'
import { pack, type Block } from '../../src/compiler/pack.js'

const block = fc
  .record({ bytes: fc.integer({ min: 1, max: 5000 }), from: fc.integer({ min: 0, max: 30 }), length: fc.integer({ min: 0, max: 10 }) })
  .map(({ bytes, from, length }): Block => ({ bytes, from, until: from + length }))

describe('pack', () => {
  it('never lets two blocks that live together overlap', () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 40 }), (blocks) => {
        const { offsets, bytes } = pack(blocks)
        for (const [i, a] of blocks.entries()) {
          expect(offsets[i]! % 64).to.equal(0)
          expect(offsets[i]! + a.bytes).to.be.at.most(bytes)
          for (const [j, b] of blocks.entries()) {
            const together = a.from <= b.until && b.from <= a.until
            const apart = offsets[i]! + a.bytes <= offsets[j]! || offsets[j]! + b.bytes <= offsets[i]!
            if (i < j && together) expect(apart, `${i} and ${j}`).to.equal(true)
          }
        }
      }),
      { seed: 20, numRuns: 300 }
    )
  })

  it('never takes more than the largest sum of what lives together by more than half', () => {
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 40 }), (blocks) => {
        const alive = (at: number): number =>
          blocks.filter(({ from, until }) => from <= at && at <= until).reduce((sum, one) => sum + 64 * Math.ceil(one.bytes / 64), 0)
        const least = Math.max(...blocks.map(({ from }) => alive(from)))
        expect(pack(blocks).bytes).to.be.within(least, 1.5 * least)
      }),
      { seed: 20, numRuns: 300 }
    )
  })

  it('uses memory again', () => {
    const blocks = Array.from({ length: 10 }, (_, i) => ({ bytes: 640, from: i, until: i + 1 }))
    expect(pack(blocks).bytes).to.equal(1280)
  })

  it('takes the smallest gap that is large enough', () => {
    const always = { from: 0, until: 9 }
    const { offsets } = pack([
      { bytes: 1024, from: 0, until: 4 },
      { bytes: 960, ...always },
      { bytes: 640, from: 0, until: 4 },
      { bytes: 576, ...always },
      { bytes: 512, from: 5, until: 9 }
    ])
    expect(offsets).to.deep.equal([0, 1024, 1984, 2624, 1984])
  })
})
