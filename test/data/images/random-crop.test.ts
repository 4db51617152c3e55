import { expect } from 'chai'
import fc from 'fast-check'
import { centralRegion, randomRegion, type Region } from '../../../src/data/images/random-crop.js'
import { Draws } from '../../../src/data/random.js'
import { keyOf } from '../../../src/model/philox.js'

const draws = (position: number) => new Draws(keyOf(1), position)
const CROP = { scale: [0.08, 1], ratio: [3 / 4, 4 / 3] } as const

function expectInside({ left, top, width, height }: Region, image: { width: number; height: number }): void {
  for (const extent of [left, top, width, height]) expect(Number.isInteger(extent)).to.equal(true)
  expect(Math.min(left, top)).to.be.at.least(0)
  expect(Math.min(width, height)).to.be.at.least(1)
  expect(left + width).to.be.at.most(image.width)
  expect(top + height).to.be.at.most(image.height)
}

describe('A random region of an image', () => {
  it('lies inside of it, however odd the image', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 5000 }), fc.nat(), (width, height, position) => {
        expectInside(randomRegion({ width, height }, CROP, draws(position)), { width, height })
      })
    )
  })

  it('has areas and aspects spread over their ranges', () => {
    const image = { width: 640, height: 480 }
    const regions = Array.from({ length: 2000 }, (_, position) => randomRegion(image, CROP, draws(position)))
    const shares = regions.map(({ width, height }) => (width * height) / (640 * 480))
    const aspects = regions.map(({ width, height }) => width / height)
    expect(Math.min(...shares)).to.be.within(0.075, 0.1)
    expect(Math.max(...shares)).to.be.within(0.9, 1)
    expect(Math.min(...aspects)).to.be.within(0.73, 0.77)
    expect(Math.max(...aspects)).to.be.within(1.3, 1.37)
    const middle = regions.map(({ left, width }) => left + width / 2)
    expect(middle.reduce((sum, x) => sum + x, 0) / middle.length).to.be.closeTo(320, 10)
  })

  it('is the middle, in an aspect that is allowed, where none fits', () => {
    const wide = randomRegion({ width: 4000, height: 10 }, { scale: [0.9, 1], ratio: [3 / 4, 4 / 3] }, draws(0))
    expect(wide).to.deep.equal({ left: 1993, top: 0, width: 13, height: 10 })
    const high = randomRegion({ width: 10, height: 4000 }, { scale: [0.9, 1], ratio: [3 / 4, 4 / 3] }, draws(0))
    expect(high).to.deep.equal({ left: 0, top: 1993, width: 10, height: 13 })
  })
})

describe('The central region of an image', () => {
  it('is a square in the middle, of a share of the shorter side', () => {
    expect(centralRegion({ width: 500, height: 256 }, 0.875)).to.deep.equal({ left: 138, top: 16, width: 224, height: 224 })
    expect(centralRegion({ width: 1, height: 1 }, 0.875)).to.deep.equal({ left: 0, top: 0, width: 1, height: 1 })
  })
})
