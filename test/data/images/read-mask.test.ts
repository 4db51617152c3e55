import { expect } from 'chai'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { datasetFromArrays, readImage, readMask } from '../../../src/index.js'
import { refused } from '../../support/codes.js'

/** Of a PNG. */
function chunk(name: string, data: Uint8Array = new Uint8Array()): Buffer {
  const [length, body, sum] = [Buffer.alloc(4), Buffer.concat([Buffer.from(name, 'latin1'), data]), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

interface Png {
  readonly width: number
  /** Of a pixel. */
  readonly bits: number
  /** 0 for grey, 3 for a palette. */
  readonly type: number
  /** Between the header and the pixels. */
  readonly chunks?: readonly Buffer[]
}

/** Each row has its bytes. */
function png(rows: readonly (readonly number[])[], { width, bits, type, chunks = [] }: Png): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(rows.length, 4)
  header.set([bits, type], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const data = deflateSync(Uint8Array.from(rows.flatMap((row) => [0, ...row])))
  return Buffer.concat([signature, chunk('IHDR', header), ...chunks, chunk('IDAT', data), chunk('IEND')])
}

/** A grey TIFF of numbers of 32 bits. */
function tiff(numbers: readonly number[], width: number): Buffer {
  const [long, begin] = [4, 8]
  const height = numbers.length / width
  const tags = [
    [256, width],
    [257, height],
    [258, 32],
    [259, 1],
    [262, 1],
    [273, begin],
    [277, 1],
    [278, height],
    [279, 4 * numbers.length]
  ]
  const header = Buffer.from([0x49, 0x49, 42, 0, 0, 0, 0, 0])
  header.writeUInt32LE(begin + 4 * numbers.length, 4)
  const words = tags.flatMap(([tag, value]) => [tag! | (long << 16), 1, value!])
  const count = Buffer.from([tags.length, 0])
  return Buffer.concat([header, Buffer.from(Uint32Array.from(numbers).buffer), count, Buffer.from(Uint32Array.of(...words, 0).buffer)])
}

describe('readMask', () => {
  const raw = (pixels: readonly number[], width: number, channels: 1 | 3 | 4) =>
    sharp(Uint8Array.from(pixels), { raw: { width, height: pixels.length / channels / width, channels } })
  const grey = (pixels: readonly number[], width: number) => raw(pixels, width, 1).toColourspace('b-w').png().toBuffer()
  const [black, red, blue] = [
    [0, 0, 0],
    [128, 0, 0],
    [0, 0, 255]
  ] as const
  const coloured = (...colours: readonly (readonly number[])[]) => raw(colours.flat(), 2, 3)

  it('takes shades of grey for classes, or gives each shade its class, and -1 to what counts for nothing', async () => {
    const mask = await grey([0, 1, 2, 255, 1, 0], 3)
    expect([...(await readMask(mask, [2, 3]))]).to.deep.equal([0, 1, 2, 255, 1, 0])
    expect([...(await readMask(mask, [2, 3], { ignore: 255 }))]).to.deep.equal([0, 1, 2, -1, 1, 0])
    expect([...(await readMask(mask, [2, 3], { values: [2, 0, 255], ignore: 1 }))]).to.deep.equal([1, -1, 0, 2, -1, 1])
    const stored = await raw(
      [0, 1, 255, 1].flatMap((shade) => [shade, shade, shade]),
      2,
      3
    )
      .png()
      .toBuffer()
    expect([...(await readMask(stored, [2, 2], { ignore: 255 }))]).to.deep.equal([0, 1, -1, 1])
  })

  it('takes white for 255 where a pixel has one bit', async () => {
    const bits = png([[0b01000000], [0b10000000]], { width: 2, bits: 1, type: 0 })
    expect([...(await readMask(bits, [2, 2], { values: [0, 255] }))]).to.deep.equal([0, 1, 1, 0])
  })

  it('keeps numbers of 16 bits, and of 32', async () => {
    const wide = await sharp(Uint16Array.of(0, 300, 65_535, 7), { raw: { width: 2, height: 2, channels: 1 } })
      .toColourspace('grey16')
      .png()
      .toBuffer()
    expect([...(await readMask(wide, [2, 2], { ignore: 65_535 }))]).to.deep.equal([0, 300, -1, 7])
    expect([...(await readMask(tiff([0, 300, 70_000, 7], 2), [2, 2]))]).to.deep.equal([0, 300, 70_000, 7])
  })

  it('keeps what a profile of colours would change, and what is transparent, also where it is scaled', async () => {
    const file = await coloured(red, red, blue, blue).png().toBuffer()
    const profiled = await coloured(red, red, blue, blue).withIccProfile('p3').png().toBuffer()
    const begin = profiled.indexOf('iCCP') - 4
    const profile = profiled.subarray(begin, begin + 12 + profiled.readUInt32BE(begin))
    const data = file.indexOf('IDAT') - 4
    const mask = Buffer.concat([file.subarray(0, data), profile, file.subarray(data)])
    expect([...(await readMask(mask, [2, 2], { values: [red, blue] }))]).to.deep.equal([0, 0, 1, 1])

    const clear = await raw([...red, 0, ...red, 0, ...blue, 0, ...blue, 9], 2, 4)
      .png()
      .toBuffer()
    expect([...(await readMask(clear, [1, 1], { values: [red, blue] }))]).to.deep.equal([1])
    const hidden = png(
      [0, 1, 2, 3].map((shade) => [shade, 0, shade, 9]),
      { width: 2, bits: 8, type: 4 }
    )
    expect([...(await readMask(hidden, [4, 2]))]).to.deep.equal([0, 0, 1, 1, 2, 2, 3, 3])
    expect([...(await readMask(hidden, [2, 1]))]).to.deep.equal([1, 3])
  })

  it('goes by the numbers of a palette, also of colours that are the same, or transparent', async () => {
    const palette = chunk('PLTE', Uint8Array.of(...black, ...black, ...red, ...black))
    const file = (...chunks: Buffer[]) =>
      png(
        [0, 1, 2, 3].map((number) => [number, number]),
        { width: 2, bits: 8, type: 3, chunks: [palette, ...chunks] }
      )
    expect([...(await readMask(file(), [4, 2]))]).to.deep.equal([0, 0, 1, 1, 2, 2, 3, 3])
    expect([...(await readMask(file(chunk('tRNS', Uint8Array.of(255, 255, 0, 9))), [2, 1]))]).to.deep.equal([1, 3])
    expect([...(await readMask(file(), [4, 1], { values: [black, red] }))]).to.deep.equal([0, 0, 1, 0])
    await refused('DATA_CORRUPT', () => readMask(file(), [4, 2], { values: [0, 1, 2] }), 'number 3 of the palette at row 3')
  })

  it('takes colours, and the numbers of a palette', async () => {
    const values = [black, red]
    const image = await coloured(black, red, blue, red).png().toBuffer()
    expect([...(await readMask(image, [2, 2], { values, ignore: blue }))]).to.deep.equal([0, 1, -1, 1])
    const indexed = await coloured(black, red, blue, red).png({ palette: true }).toBuffer()
    expect((await sharp(indexed).metadata()).isPalette).to.equal(true)
    expect([...(await readMask(indexed, [2, 2], { values, ignore: blue }))]).to.deep.equal([0, 1, -1, 1])
    // The encoder orders the palette; the same colour has the same number, and each its own.
    const [a, b, c, d] = await readMask(indexed, [2, 2])
    expect([a, b, c]).to.have.members([0, 1, 2])
    expect(d).to.equal(b)
    expect([...(await readMask(indexed, [2, 2], { values: [b!, a!], ignore: c! }))]).to.deep.equal([1, 0, -1, 0])
  })

  it('covers what readImage shows of the image, without classes between two', async () => {
    // Stripes of 12 pixels in an image that is cropped on both sides, and turned.
    const [width, height] = [96, 48]
    const pixels = Array.from({ length: width * height }, (_, at) => (Math.floor((at % width) / 12) % 2) * 200)
    for (const orientation of [1, 6]) {
      const file = await raw(pixels, width, 1).toColourspace('b-w').withMetadata({ orientation }).png().toBuffer()
      const image = await readImage(file, [1, 16, 16])
      const mask = await readMask(file, [16, 16], { values: [0, 200] })
      const differing = [...image].filter((shade, i) => Math.abs(shade - mask[i]! * 200) > 100)
      expect(differing, `orientation ${orientation}`).to.have.length(0)
      expect(new Set(mask)).to.deep.equal(new Set([0, 1]))
    }
  })

  it('makes labels for every pixel of a data set', async () => {
    const [side, photo] = [
      4,
      await raw(
        Array.from({ length: 48 }, (_, i) => 5 * i),
        4,
        3
      )
        .png()
        .toBuffer()
    ]
    const samples = await readImage(photo, [3, side, side])
    const labels = await readMask(await grey([0, 1, 1, 255], 2), [side, side], { ignore: 255 })
    const data = datasetFromArrays({ sample: [3, side, side], samples, label: [side, side], labels, classes: 2, test: { samples, labels } })
    expect(data).to.include({ classes: 2 })
  })

  it('says which pixel is of no class, and what it cannot take', async () => {
    const mask = await grey([0, 1, 2, 3], 2)
    await refused(
      'DATA_CORRUPT',
      () => readMask(mask, [2, 2], { values: [0, 1, 2] }),
      'found 3 at row 1, column 1; name what each class has as values'
    )
    const colours = await coloured(black, red, blue, red).png().toBuffer()
    await refused('DATA_CORRUPT', () => readMask(colours, [2, 2], { values: [black, red] }), '(0, 0, 255) at row 1, column 0')
    await refused('DATA_CORRUPT', () => readMask(colours, [2, 2]), '(128, 0, 0) at row 0, column 1')
    await refused('INVALID_OPTION', () => readMask(mask, [2, 2], { values: [0, red] }), 'values[1]', 'the mask is grey')
    await refused('INVALID_OPTION', () => readMask(mask, [2, 2], { ignore: red }), 'ignore', 'the mask is grey')
    await refused('INVALID_OPTION', () => readMask(mask, [2, 2], { values: [[0, 0, 256]] }), 'values[0]')
    for (const values of [
      [0, 1, 0],
      [black, black]
    ])
      await refused('INVALID_OPTION', () => readMask(mask, [2, 2], { values }), 'values: received', 'a value of its own')
    await refused('INVALID_OPTION', () => readMask(mask, [1, 2, 2] as never), 'shape', '[H, W]')
    await refused('INVALID_OPTION', () => readMask(mask, [0, 2]), 'shape')
    const indexed = await coloured(black, red, blue, red).png({ palette: true }).toBuffer()
    await refused('INVALID_OPTION', () => readMask(indexed, [2, 2], { ignore: 200 }), 'ignore: received 200; the palette has')
    await refused('DATA_CORRUPT', async () => readMask(await raw([0, 1, 1, 0], 2, 1).jpeg().toBuffer(), [2, 2]), 'a JPEG')
    await refused('DATA_CORRUPT', () => readMask(mask.subarray(0, 40), [2, 2]), 'expected a mask')
    await refused('DATA_NOT_FOUND', () => readMask('none.png', [2, 2]), 'none.png')
  })
})
