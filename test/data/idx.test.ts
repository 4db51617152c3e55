import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { readIdx, readIdxPair } from '../../src/data/idx.js'
import { refused } from '../support/codes.js'
import { Folder, idxFile } from './support/files.js'

const PIXELS = Uint8Array.from({ length: 24 }, (_, i) => 10 * i)
const IMAGES = idxFile([2, 3, 4], PIXELS)

describe('idx files', () => {
  let folder: Folder
  const write = (content: Uint8Array): Promise<string> => folder.write('packed.gz', content)
  beforeEach(async () => {
    folder = await Folder.make()
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  it('are read plain and packed, told apart by content and not by name', async () => {
    for (const [name, content] of [
      ['plain', IMAGES],
      ['plain.gz', IMAGES],
      ['packed', gzipSync(IMAGES)],
      ['members.gz', Buffer.concat([gzipSync(IMAGES.subarray(0, 19)), gzipSync(IMAGES.subarray(19))])]
    ] as const) {
      const { shape, bytes } = await readIdx(await folder.write(name, content), 3)
      expect(shape, name).to.deep.equal([2, 3, 4])
      expect([...bytes], name).to.deep.equal([...PIXELS])
    }
  })

  it('are refused where they are of another kind', async () => {
    const file = await folder.write('labels', idxFile([24], PIXELS))
    await refused('DATA_CORRUPT', () => readIdx(file, 3), file, 'expected magic number 2051', 'found 2049')
    const floats = Buffer.from(IMAGES)
    floats[2] = 0x0d
    await refused('DATA_CORRUPT', async () => readIdx(await folder.write('floats', floats), 3), 'found 3331')
  })

  it('are refused at every length but their own', async () => {
    for (let length = 0; length < IMAGES.length; length++) {
      const file = await folder.write('short', IMAGES.subarray(0, length))
      await refused('DATA_CORRUPT', () => readIdx(file, 3), file, 'expected', 'found')
    }
    const longer = Buffer.concat([IMAGES, Buffer.of(0)])
    await refused('DATA_CORRUPT', async () => readIdx(await folder.write('long', longer), 3), 'its end after 40 bytes')
    await refused('DATA_CORRUPT', async () => readIdx(await folder.write('long.gz', gzipSync(longer)), 3), 'its end after 40 bytes')
  })

  it('are refused where the packing is cut or something follows it', async () => {
    const packed = gzipSync(IMAGES)
    await refused('DATA_CORRUPT', async () => readIdx(await write(packed.subarray(0, -3)), 3), 'gzip')
    await refused('DATA_CORRUPT', async () => readIdx(await write(Buffer.concat([packed, Buffer.alloc(7)])), 3), '7 more bytes')
    await refused('DATA_CORRUPT', async () => readIdx(await write(Buffer.concat([packed, Buffer.from('more')])), 3), 'gzip')
    const wrongSum = Buffer.from(packed)
    wrongSum[packed.length - 8]! ^= 1
    await refused('DATA_CORRUPT', async () => readIdx(await write(wrongSum), 3), 'gzip')
  })

  it('take no memory for what a header claims and the file cannot hold', async () => {
    const claims = idxFile([2000, 1000, 1000], new Uint8Array(10))
    const before = process.memoryUsage().arrayBuffers
    await refused('DATA_CORRUPT', async () => readIdx(await folder.write('claims', claims), 3), '2000 x 1000 x 1000', 'at most 10')
    await refused('DATA_CORRUPT', async () => readIdx(await folder.write('claims.gz', gzipSync(claims)), 3), '2000 x 1000 x 1000')
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(64e6)
    const huge = idxFile([2 ** 32 - 1, 2 ** 32 - 1, 2 ** 32 - 1], new Uint8Array(10))
    await refused('DATA_CORRUPT', async () => readIdx(await folder.write('huge', huge), 3), 'dimensions')
    await refused('DATA_CORRUPT', async () => readIdx(await folder.write('none', idxFile([0, 3, 4], new Uint8Array(0))), 3), 'dimensions')
  })

  it('stop being unpacked where the array ends', async () => {
    // Three gigabytes in three megabytes: unpacking them all would take longer than a test may.
    const zeros = gzipSync(Buffer.alloc(10e6))
    const file = await folder.write('bomb.gz', Buffer.concat([gzipSync(IMAGES), ...Array<Buffer>(300).fill(zeros)]))
    await refused('DATA_CORRUPT', () => readIdx(file, 3), 'its end after 40 bytes')
  })

  it('pair into a data set where counts, shapes and labels agree', async () => {
    const images = await folder.write('images', IMAGES)
    const labels = await folder.write('labels', idxFile([2], Uint8Array.of(1, 9)))
    const spec = await readIdxPair(images, labels, [1, 3, 4], 10)
    expect(spec.count).to.equal(2)
    expect(spec.sample).to.deep.equal([1, 3, 4])
    expect(spec.labels).to.deep.equal(Int32Array.of(1, 9))
    await refused('DATA_CORRUPT', () => readIdxPair(images, labels, [1, 28, 28], 10), images, 'images of 28x28', '3x4')
    await refused('LABEL_OUT_OF_RANGE', () => readIdxPair(images, labels, [1, 3, 4], 9), labels, 'record 1', 'label 9', '0 to 8')
    const three = await folder.write('three', idxFile([3], Uint8Array.of(1, 2, 3)))
    await refused('DATA_CORRUPT', () => readIdxPair(images, three, [1, 3, 4], 10), three, '2 labels', 'found 3')
  })

  it('are not found where there is nothing to read', async () => {
    await refused('DATA_NOT_FOUND', () => readIdx(`${folder.path}/absent`, 3), 'absent', 'ENOENT')
    await refused('DATA_NOT_FOUND', () => readIdx(folder.path, 3), 'not a file')
  })
})
