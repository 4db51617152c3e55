import { expect } from 'chai'
import { randomColourTransform, type ColourTransform, type ColourJitter } from '../../../src/data/images/colour-jitter.js'
import { toPlanes } from '../../../src/data/images/pixels.js'
import { Draws } from '../../../src/data/random.js'
import { keyOf } from '../../../src/model/philox.js'

const NONE: ColourJitter = { brightness: 0, contrast: 0, saturation: 0, hue: 0 }
const change = (jitter: Partial<ColourJitter>, position: number) =>
  randomColourTransform({ ...NONE, ...jitter }, new Draws(keyOf(1), position))!

/** Four pixels: red, grey, white, a mixture. */
const PIXELS = Uint8Array.of(200, 0, 0, 90, 90, 90, 255, 255, 255, 30, 120, 180)

function changed(to: ColourTransform): number[][] {
  const planes = new Uint8Array(12)
  toPlanes(PIXELS, planes, { width: 2, channels: 3, colour: to })
  return [0, 1, 2, 3].map((pixel) => [planes[pixel]!, planes[4 + pixel]!, planes[8 + pixel]!])
}

describe('A change of colours', () => {
  it('is none where nothing may change', () => {
    expect(randomColourTransform(NONE, new Draws(keyOf(1), 0))).to.equal(undefined)
  })

  it('scales all by one factor for brightness', () => {
    for (let position = 0; position < 20; position++) {
      const [, grey, , mixture] = changed(change({ brightness: 0.5 }, position))
      const factor = grey![0]! / 90
      expect(factor).to.be.within(0.49, 1.51)
      expect(mixture![1]! / 120).to.be.closeTo(factor, 0.01)
    }
  })

  it('leaves greys as they are for saturation and hue', () => {
    for (let position = 0; position < 20; position++)
      for (const jitter of [{ saturation: 0.9 }, { hue: 0.5 }])
        for (const value of changed(change(jitter, position))[1]!) expect(value).to.be.closeTo(90, 1)
  })

  it('takes all colour out at saturation 0', () => {
    const [r, g, b] = [0.299, 0.587, 0.114]
    const grey: ColourTransform = { matrix: [r, g, b, r, g, b, r, g, b], contrast: 1 }
    for (const pixel of changed(grey)) expect(new Set(pixel).size).to.equal(1)
    expect(changed(grey)[0]).to.deep.equal([60, 60, 60])
  })

  it('turns red to another colour of about the same brightness for hue', () => {
    const hues = Array.from({ length: 30 }, (_, position) => changed(change({ hue: 0.3 }, position))[3]!)
    expect(hues.filter(([r, , b]) => r! > b!).length).to.be.above(0)
    for (const [r, g, b] of hues) expect(0.299 * r! + 0.587 * g! + 0.114 * b!).to.be.closeTo(100, 20)
  })

  it('draws towards the mean grey for contrast', () => {
    const mean = (59.8 + 90 + 255 + (0.299 * 30 + 0.587 * 120 + 0.114 * 180)) / 4
    const flat = changed({ matrix: [1, 0, 0, 0, 1, 0, 0, 0, 1], contrast: 0 })
    for (const pixel of flat) for (const value of pixel) expect(value).to.be.closeTo(mean, 1)
  })
})

describe('Pixels as planes', () => {
  it('keep every channel together, mirrored where that is asked for', () => {
    const planes = new Uint8Array(12)
    toPlanes(PIXELS, planes, { width: 2, channels: 3 })
    expect([...planes]).to.deep.equal([200, 90, 255, 30, 0, 90, 255, 120, 0, 90, 255, 180])
    toPlanes(PIXELS, planes, { width: 2, channels: 3, flip: true })
    expect([...planes]).to.deep.equal([90, 200, 30, 255, 90, 0, 120, 255, 90, 0, 180, 255])
  })
})
