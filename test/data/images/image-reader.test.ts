import { expect } from 'chai'
import sharp, { type Sharp } from 'sharp'
import { join } from 'node:path'
import { openReader } from '../../../src/data/images/image-reader.js'
import type { ImageRecipe } from '../../../src/data/images/image-recipe.js'
import { Draws } from '../../../src/data/random.js'
import { keyOf } from '../../../src/model/philox.js'
import { rejection } from '../../support/rejection.js'
import { Folder } from '../support/files.js'

const SIZE = 8
const PLAIN: ImageRecipe = {
  size: SIZE,
  channels: 3,
  centre: 1,
  stretch: false,
  crop: false,
  flip: false,
  colour: { brightness: 0, contrast: 0, saturation: 0, hue: 0 }
}

/** Dark to the left, red to the right; blue grows to the bottom. */
function picture(width: number, height: number): Sharp {
  const pixels = Buffer.alloc(width * height * 3)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      pixels[(y * width + x) * 3] = x < width / 2 ? 20 : 220
      pixels[(y * width + x) * 3 + 2] = Math.floor((255 * y) / height)
    }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}

describe('The reader of images', () => {
  let folder: Folder
  before(async () => {
    folder = await Folder.make()
  })
  after(() => folder[Symbol.asyncDispose]())

  async function read(image: Sharp, name: string, recipe: Partial<ImageRecipe> = {}, draws?: Draws): Promise<Uint8Array> {
    await image.toFile(join(folder.path, name))
    return reread(name, recipe, draws)
  }
  async function reread(name: string, recipe: Partial<ImageRecipe>, draws?: Draws): Promise<Uint8Array> {
    const path = join(folder.path, name)
    const all = { ...PLAIN, ...recipe }
    const to = new Uint8Array(all.channels * all.size * all.size)
    await openReader(all)(path, to, draws)
    return to
  }
  const red = (planes: Uint8Array, x: number, y: number) => planes[y * SIZE + x]!
  const blue = (planes: Uint8Array, x: number, y: number) => planes[2 * SIZE * SIZE + y * SIZE + x]!

  it('sees the whole of an image that it stretches, or the share of both sides', async () => {
    for (const [width, height] of [
      [64, 16],
      [16, 64],
      [40, 10]
    ] as const) {
      const whole = await read(picture(width, height), 'wide.png', { stretch: true })
      expect(blue(whole, 0, 7) - blue(whole, 0, 0)).to.be.within(200, 245)
      expect([0, 3, 4, 7].map((x) => Math.round(red(whole, x, 4) / 100))).to.deep.equal([0, 0, 2, 2])
      const centre = await reread('wide.png', { stretch: true, centre: 0.5 })
      expect(blue(centre, 0, 7) - blue(centre, 0, 0)).to.be.within(80, 130)
    }
    // Without, the sides of a wide image are cut off, and the upper and lower parts of a high one.
    const cropped = await read(picture(16, 64), 'high.png', {})
    expect(blue(cropped, 0, 7) - blue(cropped, 0, 0)).to.be.within(30, 70)
  })

  it('gives planes of the size wanted, whatever the format and size of the file', async () => {
    for (const name of ['a.png', 'a.jpg', 'a.webp', 'a.gif', 'a.tiff', 'a.avif'])
      for (const extent of [8, 24, 301]) {
        const planes = await read(picture(extent, extent), name)
        expect(red(planes, 1, 4), `${name} ${extent}`).to.be.closeTo(20, 25)
        expect(red(planes, 6, 4), `${name} ${extent}`).to.be.closeTo(220, 25)
        expect(blue(planes, 4, 7) - blue(planes, 4, 0), `${name} ${extent}`).to.be.within(160, 255)
      }
  })

  it('cuts the same region whether it scales first or last', async () => {
    // Twice the size and above the whole image is scaled first.
    const [small, large] = [await read(picture(15, 30), 'b.png'), await read(picture(300, 600), 'b.png')]
    for (const [i, value] of large.entries()) expect(value).to.be.closeTo(small[i]!, 45)
    expect(blue(large, 4, 0)).to.be.within(55, 85)
    expect(blue(large, 4, 7)).to.be.within(170, 200)
  })

  it('turns an image as its camera was held', async () => {
    // Orientation 6: what is to the left in the file is at the top.
    const planes = await read(picture(24, 24).withMetadata({ orientation: 6 }), 'c.jpg')
    expect(red(planes, 4, 1)).to.be.closeTo(20, 30)
    expect(red(planes, 4, 6)).to.be.closeTo(220, 30)
    const wide = await read(picture(200, 100).withMetadata({ orientation: 6 }), 'd.jpg', { crop: { scale: [1, 1], ratio: [0.1, 10] } })
    expect(red(wide, 4, 1)).to.be.closeTo(20, 30)
  })

  it('reads greys as colours and colours as greys', async () => {
    const grey = sharp(Buffer.alloc(100, 130), { raw: { width: 10, height: 10, channels: 1 } })
    expect([...new Set(await read(grey, 'e.png'))]).to.deep.equal([130])
    const single = await read(picture(24, 24), 'f.png', { channels: 1 })
    expect(single.length).to.equal(SIZE * SIZE)
    expect(single[4 * SIZE + 7]! - single[4 * SIZE]!).to.be.above(20)
  })

  it('puts what is transparent on white', async () => {
    const clear = sharp(Buffer.alloc(400), { raw: { width: 10, height: 10, channels: 4 } })
    expect([...new Set(await read(clear, 'g.png'))]).to.deep.equal([255])
  })

  it('is random by its draws alone, and not at all without', async () => {
    const random: Partial<ImageRecipe> = {
      crop: { scale: [0.2, 1], ratio: [0.75, 1.3] },
      flip: true,
      colour: { brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1 }
    }
    const at = (position: number) => read(picture(40, 30), 'h.png', random, new Draws(keyOf(5), position))
    expect(await at(3)).to.deep.equal(await at(3))
    expect(await at(3)).to.not.deep.equal(await at(4))
    expect(await read(picture(40, 30), 'h.png', random)).to.deep.equal(await read(picture(40, 30), 'h.png'))
    await read(picture(24, 24), 'i.png')
    const sides = await Promise.all(
      Array.from({ length: 40 }, (_, position) => reread('i.png', { flip: true }, new Draws(keyOf(5), position)))
    )
    expect(sides.filter((planes) => red(planes, 1, 4) > 100).length).to.be.within(10, 30)
  })

  it('refuses what is cut short, and what is no image', async () => {
    const whole = await picture(60, 60).jpeg().toBuffer()
    const cut = await folder.write('cut.jpg', whole.subarray(0, whole.length / 2))
    const text = await folder.write('text.png', Buffer.from('hello'))
    const to = new Uint8Array(3 * SIZE * SIZE)
    for (const path of [cut, text, join(folder.path, 'nowhere.png')])
      expect(await rejection((async () => openReader(PLAIN)(path, to, undefined))())).to.be.instanceOf(Error)
  })
})
