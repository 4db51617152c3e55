import { expect } from 'chai'
import fc from 'fast-check'
import { BoundedCurve, MOST_POINTS } from '../../src/dashboard/bounded-curve.js'
import type { CurvePoint } from '../../src/dashboard/page/wire.js'

describe('a curve', () => {
  it('holds its points until there are too many, then merges neighbours: last, mean, most', () => {
    const curve = new BoundedCurve(['last', 'mean', 'most'])
    for (let i = 0; i < MOST_POINTS; i++) curve.push([i, i, i % 2])
    expect(curve.whole().points.slice(0, 2)).to.deep.equal([
      [0, 0, 0],
      [1, 1, 1]
    ])
    curve.push([MOST_POINTS, 7, 0])
    expect(curve.length).to.equal(MOST_POINTS / 2 + 1)
    expect(curve.whole().points.slice(0, 2)).to.deep.equal([
      [1, 0.5, 1],
      [3, 2.5, 1]
    ])
    curve.push([MOST_POINTS + 1, 9, 0])
    expect(curve.whole().points.at(-1)).to.deep.equal([MOST_POINTS + 1, 8, 0])
  })

  it('stays as small after an hour of 1,000 points a second', () => {
    const curve = new BoundedCurve(['last', 'mean'])
    for (let i = 0; i < 3_600_000; i++) curve.push([i, 1])
    expect(curve.length).to.be.within(MOST_POINTS / 2, MOST_POINTS)
    expect(curve.whole().points.every(([, mean]) => Math.abs(mean! - 1) < 1e-9)).to.equal(true)
  })

  it('keeps its mean, whatever was merged, and numbers where there are some', () => {
    const curve = new BoundedCurve(['last', 'mean'])
    const count = 4 * MOST_POINTS
    for (let i = 0; i < count; i++) curve.push([i, i % 3 === 0 ? null : i % 3 === 1 ? NaN : i])
    for (const [, mean] of curve.whole().points) expect(mean).to.satisfy(Number.isFinite)
  })

  it('tells changes from which a copy becomes equal, however they are taken', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 700 }), fc.boolean()), { maxLength: 12 })
    fc.assert(
      fc.property(steps, (all) => {
        const curve = new BoundedCurve(['last', 'mean'])
        const copy: CurvePoint[] = []
        let pushed = 0
        for (const [count, takes] of all) {
          for (let i = 0; i < count; i++) curve.push([pushed++, Math.sin(pushed)])
          const changes = takes ? curve.takeChanges() : undefined
          if (!changes) continue
          copy.splice(changes.from, copy.length - changes.from, ...structuredClone(changes.points))
          expect(copy).to.deep.equal(curve.whole().points)
        }
        if (!curve.takeChanges()) expect(curve.takeChanges()).to.equal(undefined)
      }),
      { numRuns: 60 }
    )
  })
})
