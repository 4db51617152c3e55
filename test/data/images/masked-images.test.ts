import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { Draws } from '../../../src/data/random.js'
import type { StreamedSamples } from '../../../src/data/dataset.js'
import { openReader, type MaskedPlaces, type MaskedRecipe } from '../../../src/data/images/masked-reader.js'
import { keyOf } from '../../../src/model/philox.js'
import { conv2d, defineModel, imagePositions, maskedImages, train, type MaskedImagesOptions } from '../../../src/index.js'
import { refused } from '../../support/codes.js'
import { Folder } from '../support/files.js'

/** Shades of a photograph, and what its mask has where the photograph is so: far enough apart that a mixture of two is seen. */
const [SHADES, VALUES] = [
  [0, 128, 255],
  [10, 200, 70]
]
const [WIDTH, HEIGHT] = [60, 40]

describe('Images with masks', function () {
  this.timeout(120_000)
  let folder: Folder
  beforeEach(async () => {
    folder = await Folder.make()
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  /** Rectangles of one class each, with a border of them at `left` and `top`. */
  const classAt = (x: number, y: number, left: number, top: number) => (x < left ? 0 : y < top ? 1 : 2)

  async function save(name: string, valueAt: (x: number, y: number) => number, [width, height] = [WIDTH, HEIGHT]): Promise<void> {
    const path = join(folder.path, name)
    await mkdir(dirname(path), { recursive: true })
    const pixels = Uint8Array.from({ length: width * height }, (_, i) => valueAt(i % width, Math.floor(i / width)))
    await sharp(pixels, { raw: { width, height, channels: 1 } })
      .toColourspace('b-w')
      .toFile(path)
  }

  async function pair(name: string, left: number, top: number, mask = `masks/${name}.png`): Promise<void> {
    await save(`photos/${name}.jpg`, (x, y) => SHADES[classAt(x, y, left, top)]!)
    await save(mask, (x, y) => VALUES[classAt(x, y, left, top)]!)
  }

  const opened = (more: Partial<MaskedImagesOptions> = {}) =>
    maskedImages({ images: join(folder.path, 'photos'), masks: join(folder.path, 'masks'), size: 24, values: VALUES, ...more })

  /** Samples as they are read for training at some positions: pixels (24, 24) of grey, and their labels. */
  async function read(part: StreamedSamples, positions: readonly (number | undefined)[]) {
    const { options, place } = part.reader as { readonly options: MaskedRecipe; readonly place: MaskedPlaces }
    const reader = openReader(options, place)
    const samples = positions.map(async (position) => {
      const [pixels, labels] = [new Uint8Array(24 * 24), new Int32Array(24 * 24)]
      await reader(part.items[0]!, pixels, position === undefined ? undefined : new Draws(keyOf(1), position), labels)
      return { pixels, labels }
    })
    return Promise.all(samples)
  }

  it('are cropped, scaled and mirrored together', async () => {
    await pair('one', 25, 15)
    await pair('two', 25, 15)
    const { train: part } = await opened({ channels: 1, colour: {} })
    const samples = await read(part as StreamedSamples, [undefined, ...Array(30).keys()])
    for (const { pixels, labels } of samples) {
      // Between two classes a pixel is a mixture, or half a pixel away.
      const wrong = labels.filter((label, i) => Math.abs(pixels[i]! - SHADES[label]!) > 40)
      expect(wrong.length).to.be.below(2 * 24 + 1)
    }
    const lefts = samples.map(({ labels }) => labels.indexOf(0) % 24 === 0)
    expect(new Set(lefts.slice(1)).size, 'none is mirrored').to.equal(2)
    // The whole height, and of the width as much: from column 10 on.
    const { labels } = samples[0]!
    expect([0, 8, 9, 23].map((x) => labels[x])).to.deep.equal([0, 0, 1, 1])
    expect([0, 8, 9, 23].map((y) => labels[24 * y + 23])).to.deep.equal([1, 1, 2, 2])
  })

  it('are those of the same name, in any folders, and those of train and test apart', async () => {
    await pair('b', 20, 20)
    await pair('x/a', 20, 20)
    const data = await opened({ classNames: ['left', 'above', 'rest'] })
    expect(data).to.deep.include({ name: 'photos', sample: [3, 24, 24], classes: 3, classNames: ['left', 'above', 'rest'] })
    expect([data.train.count, data.test.count, data.train.label]).to.deep.equal([1, 1, [24, 24]])
    await using other = await Folder.make()
    const inner = folder
    folder = other
    for (const name of ['train/1', 'train/2', 'val/3']) await pair(name, 20, 20)
    const apart = await opened()
    folder = inner
    expect([apart.train.count, apart.test.count]).to.deep.equal([2, 1])
  })

  it('are refused where a mask is missing or of another kind of file', async () => {
    await pair('a', 20, 20)
    await save('photos/b.jpg', () => 0)
    await refused('DATA_CORRUPT', () => opened(), 'b.jpg: expected its mask')
    await save('masks/b.webp', () => 10)
    await refused('DATA_CORRUPT', () => opened(), 'expected masks of one kind')
  })

  it('are refused where a mask has another size or a value of no class, which a check finds at once', async () => {
    for (const name of ['a', 'b', 'c']) await pair(name, 20, 20)
    expect((await opened({ check: true })).train.count).to.equal(2)
    await save('masks/b.png', () => 10, [HEIGHT, WIDTH])
    await refused('DATA_CORRUPT', () => opened({ check: true }), 'b.png: 40x60 pixels, where the image has 60x40')
    await save('masks/b.png', () => 11)
    await refused('DATA_CORRUPT', () => opened({ check: true }), 'b.png: 11 at row 0, column 0')
    const kept = await opened({ check: true, onBadImage: 'skip' })
    expect(kept.train.count + kept.test.count).to.equal(2)
  })

  it('are refused where it is not said how many classes there are, or two numbers contradict each other', async () => {
    await pair('a', 20, 20)
    await pair('b', 20, 20)
    const { images, masks } = { images: join(folder.path, 'photos'), masks: join(folder.path, 'masks') }
    await refused('INVALID_OPTION', () => maskedImages({ images, masks }), 'classes: received nothing; say how many')
    await refused('INVALID_OPTION', () => opened({ classNames: ['a', 'b'] }), 'classNames')
    await refused('INVALID_OPTION', () => opened({ classes: 4 }), 'classes: received 4')
    await refused('INVALID_OPTION', () => maskedImages({ images } as MaskedImagesOptions), 'masks')
    await refused('DATA_NOT_FOUND', () => opened({ masks: 'nowhere' }), 'nowhere')
    expect((await maskedImages({ images, masks, classes: 201 })).classes).to.equal(201)
  })

  it('train a model of pixels, which is measured on whole images', async () => {
    for (let i = 0; i < 12; i++) await pair(`${i}`, 15 + 2 * i, 10 + i)
    const data = await opened({ channels: 1, ignore: 10, values: [200, 70], seed: 2, testFraction: 0.25 })
    const layers = [conv2d(2, 1), imagePositions()]
    const model = defineModel({ name: 'shades', input: [1, 24, 24], layers })
    const job = train({ model, data, learners: 2, batch: 3, until: { epochs: 60 }, optimiser: { learningRate: 0.5 }, metrics: ['iou'] })
    const { testAccuracy, testMetrics } = await job.finished
    expect(testAccuracy).to.be.above(0.9)
    expect(testMetrics!.iou).to.be.above(0.8)
  })
})
