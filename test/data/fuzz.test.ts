import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { CIFAR_10, readCifar } from '../../src/data/cifar.js'
import { readIdxPair } from '../../src/data/idx.js'
import type { DatasetSpec } from '../../src/engine/contract.js'
import { ArbalestError } from '../../src/errors.js'
import { cifarFile, Folder, idxFile } from './support/files.js'

/** What may happen to a file: bits flip, its end is lost, bytes are added, or bytes in its middle go. */
const damage: fc.Arbitrary<(content: Buffer) => Buffer> = fc.oneof(
  fc
    .array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(7)), { minLength: 1, maxLength: 4 })
    .map((flips) => (content: Buffer) => {
      const changed = Buffer.from(content)
      // Headers are where it matters: half of the flips fall into the first bytes.
      for (const [where, bit] of flips) changed[Math.floor(where * (bit % 2 ? Math.min(24, changed.length) : changed.length))]! ^= 1 << bit
      return changed
    }),
  fc.double({ min: 0, max: 1, noNaN: true }).map((share) => (content: Buffer) => content.subarray(0, Math.floor(share * content.length))),
  fc.uint8Array({ minLength: 1, maxLength: 40 }).map((more) => (content: Buffer) => Buffer.concat([content, more])),
  fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 30 })).map(([from, length]) => (content: Buffer) => {
    return Buffer.concat([content.subarray(0, from), content.subarray(from + length)])
  })
)

const packing = fc.constantFrom((content: Buffer) => content, gzipSync)
const order = fc.constantFrom('damage, then pack', 'pack, then damage')

async function expectValidOrRefused(read: () => Promise<DatasetSpec>): Promise<void> {
  const before = process.memoryUsage().arrayBuffers
  try {
    const { count, sample, samples, labels, classes } = await read()
    expect(samples.length).to.equal(count * sample.reduce((product, extent) => product * extent, 1))
    expect(labels!.length).to.equal(count)
    expect(labels!.every((label) => label >= 0 && label < classes!)).to.equal(true)
  } catch (error) {
    if (!(error instanceof ArbalestError)) throw error
    expect(error.code).to.be.oneOf(['DATA_CORRUPT', 'LABEL_OUT_OF_RANGE'])
  }
  expect(process.memoryUsage().arrayBuffers - before).to.be.below(100e6)
}

function damaged(content: Buffer, pack: (content: Buffer) => Buffer, harm: (content: Buffer) => Buffer, first: string): Buffer {
  return first === 'damage, then pack' ? pack(harm(content)) : harm(pack(content))
}

describe('damaged data files', function () {
  this.timeout(30_000)
  let folder: Folder
  before(async () => {
    folder = await Folder.make()
  })
  after(() => folder[Symbol.asyncDispose]())

  it('as idx are a valid data set or an error with a code', async () => {
    const parts = {
      images: idxFile(
        [6, 4, 5],
        Uint8Array.from({ length: 120 }, (_, i) => (7 * i) % 256)
      ),
      labels: idxFile([6], Uint8Array.of(0, 1, 2, 3, 4, 5))
    }
    const property = fc.asyncProperty(fc.constantFrom('images', 'labels'), packing, damage, order, async (which, pack, harm, first) => {
      const write = (part: 'images' | 'labels'): Promise<string> => {
        return folder.write(part, part === which ? damaged(parts[part], pack, harm, first) : parts[part])
      }
      const [images, labels] = [await write('images'), await write('labels')]
      await expectValidOrRefused(() => readIdxPair(images, labels, [1, 4, 5], 10))
    })
    await fc.assert(property, { numRuns: 300 })
  })

  it('as CIFAR-10 are a valid data set or an error with a code', async () => {
    const content = cifarFile([0, 9, 5])
    const property = fc.asyncProperty(packing, damage, order, async (pack, harm, first) => {
      const file = await folder.write('batch', damaged(content, pack, harm, first))
      await expectValidOrRefused(() => readCifar([file], { ...CIFAR_10, records: 3 }))
    })
    await fc.assert(property, { numRuns: 200 })
  })

  it('as idx of another shape, made of any header, are an error with a code', async () => {
    const extent = fc.oneof(fc.nat(8), fc.integer({ min: 0, max: 2 ** 32 - 1 }))
    const property = fc.asyncProperty(
      fc.array(extent, { minLength: 3, maxLength: 3 }),
      fc.uint8Array({ maxLength: 64 }),
      packing,
      async (shape, bytes, pack) => {
        const images = await folder.write('images', pack(idxFile(shape, bytes)))
        const labels = await folder.write('labels', idxFile([1], Uint8Array.of(0)))
        await expectValidOrRefused(() => readIdxPair(images, labels, [1, shape[1]!, shape[2]!], 10))
      }
    )
    await fc.assert(property, { numRuns: 150 })
  })
})
