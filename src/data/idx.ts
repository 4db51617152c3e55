import type { DatasetSpec } from '../engine/contract.js'
import { elements } from '../model/graph.js'
import { ByteReader } from './byte-reader.js'
import { checkedLabels, corrupt } from './faults.js'

/** Bytes in the shape that the file gives, row by row. */
export interface IdxArray {
  readonly shape: readonly number[]
  readonly bytes: Uint8Array
}

/** The longest idx content that is read, in bytes: far beyond any data set that fits in memory with its learners. */
const MOST = 2 ** 31

const UNSIGNED_BYTE = 0x08

/**
 * Reads an idx file of unsigned bytes with `rank` dimensions, plain or packed (gz by content): a big-endian magic number 0x0000TTRR
 * (element type, rank), a 32-bit word for each extent, the elements. The format of the MNIST database (LeCun, Cortes and Burges).
 * Throws DATA_CORRUPT where anything is missing, left over or not as the header says, and before memory is taken for what the file cannot
 * hold.
 */
export function readIdx(file: string, rank: number): Promise<IdxArray> {
  return ByteReader.whole(file, async (reader) => {
    const magic = word(await reader.take(4, 'magic number'), 0)
    const wanted = (UNSIGNED_BYTE << 8) | rank
    if (magic !== wanted) throw corrupt(file, `magic number ${wanted} (unsigned bytes, rank ${rank})`, `${magic}`)
    const header = await reader.take(4 * rank, 'extents')
    const shape = Array.from({ length: rank }, (_, axis) => word(header, 4 * axis))
    const count = elements(shape)
    if (count === 0 || count > MOST) throw corrupt(file, `between 1 and ${MOST} elements`, `the extents ${shape.join(' x ')}`)
    return { shape, bytes: await reader.take(count, `the ${shape.join(' x ')} elements of its header`) }
  })
}

/**
 * Reads grey images and their labels: samples (count, 1, height, width). Throws LABEL_OUT_OF_RANGE, and DATA_CORRUPT
 * where the images are not of the `sample` shape or are not as many as the labels.
 */
export async function readIdxPair(imageFile: string, labelFile: string, sample: readonly number[], classes: number): Promise<DatasetSpec> {
  const images = await readIdx(imageFile, 3)
  const labels = await readIdx(labelFile, 1)
  const [count, height, width] = images.shape as [number, number, number]
  if (height !== sample[1] || width !== sample[2]) {
    throw corrupt(imageFile, `images of ${sample[1]}x${sample[2]}`, `${height}x${width}`, {
      mend: 'check that it belongs to this data set'
    })
  }
  if (labels.bytes.length !== count) throw corrupt(labelFile, `${count} labels, as ${imageFile} has images`, `${labels.bytes.length}`)
  return { count, sample, samples: images.bytes, labels: checkedLabels(labels.bytes, classes, labelFile), classes }
}

function word(bytes: Uint8Array, offset: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset)
}
