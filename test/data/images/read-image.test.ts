import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { refused } from '../../support/codes.js'
import { rejection } from '../../support/rejection.js'
import { Folder } from '../support/files.js'
import { openDataForModel } from '../../../src/data/data-for-model.js'
import type { StreamedSamples } from '../../../src/data/dataset.js'
import { imageFolder, readImage } from '../../../src/data/datasets.js'
import { openReader } from '../../../src/data/images/image-reader.js'
import type { ImageRecipe } from '../../../src/data/images/image-recipe.js'
import { elements } from '../../../src/model/graph.js'
import { photo, PHOTO_CLASSES, writePhotos } from '../support/photos.js'

/** As PNG has it (ISO 3309). */
function crc32(bytes: Uint8Array): number {
  let rest = 0xffffffff
  for (const byte of bytes) {
    rest ^= byte
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0)
  }
  return ~rest >>> 0
}

describe('readImage', () => {
  let folder: Folder
  before(async () => {
    folder = await Folder.make()
  })
  after(() => folder[Symbol.asyncDispose]())

  const png = async (name: string, pixels: readonly number[], width: number, height: number, channels: 1 | 3 | 4) => {
    const path = join(folder.path, `${name}.png`)
    await sharp(Uint8Array.from(pixels), { raw: { width, height, channels } }).png().toFile(path)
    return path
  }

  it('gives a model the pixels that it is measured with on a folder, large images and small ones, turned ones and grey', async () => {
    await writePhotos(join(folder.path, 'photos'), 4)
    const [first] = PHOTO_CLASSES
    await photo(first!, 9)
      .resize(300, 200)
      .jpeg()
      .withMetadata({ orientation: 6 })
      .toFile(join(folder.path, 'photos', first!, 'turned.jpg'))
    for (const options of [
      { size: 16 },
      { size: 32, resize: 50 },
      { size: 64, channels: 1 as const },
      { size: 24, resize: 24 },
      { size: 24, resize: 30, stretch: true }
    ]) {
      const { sample: input, encoding, test, train } = await imageFolder(join(folder.path, 'photos'), { ...options, testFraction: 0.5 })
      const model = { name: 'm', input, encoding }
      const { reader } = test as StreamedSamples
      const read = openReader(reader.options as ImageRecipe)
      const evaluated = (await openDataForModel(join(folder.path, 'photos'), model)).test as StreamedSamples
      const readAgain = openReader(evaluated.reader.options as ImageRecipe)
      for (const item of [...(test as StreamedSamples).items, ...(train as StreamedSamples).items]) {
        const [wanted, again] = [new Uint8Array(elements(input)), new Uint8Array(elements(input))]
        await read(item, wanted, undefined)
        await readAgain(item, again, undefined)
        expect(await readImage(item, model)).to.deep.equal(wanted)
        expect(again).to.deep.equal(wanted)
      }
    }
  })

  it('gives an image of the right size as it is, plane by plane', async () => {
    const colour = await png('colour', [10, 20, 30, 40, 50, 60], 2, 1, 3)
    expect([...(await readImage(colour, [3, 1, 2]))]).to.deep.equal([10, 40, 20, 50, 30, 60])
    const grey = await png('grey', [7, 99, 180, 255], 2, 2, 1)
    expect([...(await readImage(grey, [1, 2, 2]))]).to.deep.equal([7, 99, 180, 255])
  })

  it('turns grey into colour and colour into grey', async () => {
    const grey = await png('grey', [7, 99], 2, 1, 1)
    expect([...(await readImage(grey, [3, 1, 2]))]).to.deep.equal([7, 99, 7, 99, 7, 99])
    const white = await png('white', [255, 255, 255, 0, 0, 0], 2, 1, 3)
    expect([...(await readImage(white, [1, 1, 2]))]).to.deep.equal([255, 0])
    // What Pillow's convert('L') gives, with and without the crop of a folder.
    const colours = await png('colours', [255, 0, 0, 0, 255, 0, 0, 0, 255, 200, 100, 50], 2, 2, 3)
    const encoding = { kind: 'image', resize: 2 } as const
    for (const model of [{ input: [1, 2, 2] }, { input: [1, 2, 2], encoding }])
      expect([...(await readImage(colours, model))]).to.deep.equal([76, 150, 29, 124])
  })

  it('covers the sample and crops at the centre', async () => {
    const wide = await png('wide', [0, 0, 200, 200, 0, 0, 0, 0, 200, 200, 0, 0], 6, 2, 1)
    expect([...(await readImage(wide, [1, 2, 2]))]).to.deep.equal([200, 200, 200, 200])
  })

  it('takes what is transparent for white', async () => {
    expect([...(await readImage(await png('clear', [9, 9, 9, 0], 1, 1, 4), [3, 1, 1]))]).to.deep.equal([255, 255, 255])
  })

  it('reads bytes and streams as files', async () => {
    const path = await png('bytes', [9, 8, 7, 6], 2, 2, 1)
    const bytes = await readFile(path)
    for (const source of [bytes, new Uint8Array(bytes), createReadStream(path, { highWaterMark: 16 })])
      expect([...(await readImage(source, [1, 2, 2]))]).to.deep.equal([9, 8, 7, 6])
    expect(await rejection(readImage(bytes.subarray(0, 50), [1, 2, 2])))
      .to.have.property('message')
      .that.matches(/^image: expected an image, found /)
    await refused(
      'INVALID_OPTION',
      () => readImage({} as never, [1, 2, 2]),
      'image: received {}; give a path, a Uint8Array or a stream of these'
    )
  })

  it('reads an image that decoders only warn of, as training does', async () => {
    const whole = await photo('noon', 1).jpeg().toBuffer()
    const tables = whole.indexOf(Buffer.of(0xff, 0xc4))
    const odd = Buffer.concat([whole.subarray(0, tables), Buffer.of(0x12, 0x34), whole.subarray(tables)])
    const encoding = { kind: 'image', resize: 16 } as const
    for (const model of [{ input: [3, 16, 16] }, { input: [3, 16, 16], encoding }])
      expect(await readImage(odd, model)).to.deep.equal(await readImage(whole, model))
  })

  it('says in one line why a damaged image cannot be read', async () => {
    const whole = await photo('noon', 1).jpeg().toBuffer()
    for (const model of [{ input: [3, 16, 16] }, { input: [3, 16, 16], encoding: { kind: 'image', resize: 16 } as const }])
      await refused('DATA_CORRUPT', () => readImage(whole.subarray(0, 200), model), 'image: expected an image, found ')
  })

  it('refuses what is no image, and samples that are none', async () => {
    const path = await folder.write('text.png', Buffer.from('no image'))
    await refused('DATA_CORRUPT', () => readImage(path, [1, 2, 2]), 'text.png')
    for (const none of [undefined, null, 28, {}, { input: 28 }])
      await refused('INVALID_OPTION', () => readImage(path, none as never), 'shape: received', 'give a model')
    await refused('DATA_NOT_FOUND', () => readImage(join(folder.path, 'none.png'), [1, 2, 2]), 'none.png')
    await refused('DATA_NOT_FOUND', () => readImage(folder.path, [1, 2, 2]), 'not a file')
    // The content of a file in the place of its path.
    const content = `\x89PNG\r\n\x1a\n\0${'x'.repeat(5000)}`
    const { message } = await refused('DATA_NOT_FOUND', () => readImage(content, [1, 2, 2]), 'it cannot be read')
    expect(message).to.match(/^[ -~]{1000,1200}$/)
    await refused('INVALID_OPTION', () => readImage(path, [784]), 'shape')
    for (const shape of [
      [2, 8, 8],
      [3, 8.5, 8],
      [3, 8, -8],
      [3, NaN, 8],
      [3, 16_384, 8]
    ])
      await refused('INVALID_OPTION', () => readImage(path, shape), 'shape: received', 'from 1 to 16383')
    const texts = () => createReadStream(path, 'utf8') as unknown as AsyncIterable<Uint8Array>
    await refused('INVALID_OPTION', () => readImage(texts(), [1, 2, 2]), 'image: received "no image"', 'without an encoding')
  })

  it('takes no memory for pixels that its file cannot hold', async () => {
    const bytes = await readFile(await png('huge', [1, 2], 2, 1, 1))
    // The header says 12,000 x 12,000: below libvips' own limit.
    bytes.writeUInt32BE(12_000, 16)
    bytes.writeUInt32BE(12_000, 20)
    bytes.writeUInt32BE(crc32(bytes.subarray(12, 29)), 29)
    const path = await folder.write('huge.png', bytes)
    await refused('DATA_CORRUPT', () => readImage(path, [1, 2, 2]), 'pixel limit')
  })
})
