import type { DatasetSpec } from '../engine/contract.js'
import { corruptFile } from '../formats/file-errors.js'
import { elements } from '../model/graph.js'
import { checkedLabels } from './checks.js'
import { ByteReader } from './compressed-file.js'

/** The content of an idx file: bytes in row-major order. */
export interface IdxArray {
  readonly shape: readonly number[]
  readonly bytes: Uint8Array
}

/** The most elements of a file: far more than a data set can have that fits in memory together with its learners. */
const MAX_ELEMENTS = 2 ** 31

const UNSIGNED_BYTE = 0x08

/**
 * Reads an idx file of unsigned bytes with `rank` dimensions, plain or compressed: a big-endian magic number 0x0000TTRR (element type,
 * rank), a 32-bit word for each dimension, the elements. The format of the MNIST database (LeCun, Cortes and Burges).
 * Throws DATA_CORRUPT if the file is shorter or longer than its header says, before it allocates memory for a forged size.
 */
export function readIdx(file: string, rank: number): Promise<IdxArray> {
  return ByteReader.readAll(file, async (reader) => {
    const magic = word(await reader.take(4, 'magic number'), 0)
    const wanted = (UNSIGNED_BYTE << 8) | rank
    if (magic !== wanted) throw corruptFile(file, { expected: `magic number ${wanted} (unsigned bytes, rank ${rank})`, found: `${magic}` })
    const header = await reader.take(4 * rank, 'dimensions')
    const shape = Array.from({ length: rank }, (_, axis) => word(header, 4 * axis))
    const count = elements(shape)
    if (count === 0 || count > MAX_ELEMENTS)
      throw corruptFile(file, { expected: `between 1 and ${MAX_ELEMENTS} elements`, found: `the dimensions ${shape.join(' x ')}` })
    return { shape, bytes: await reader.take(count, `${shape.join(' x ')} elements`) }
  })
}

/**
 * Reads grey images and their labels: samples (count, 1, height, width). Throws LABEL_OUT_OF_RANGE, and DATA_CORRUPT if the images do
 * not have the `sample` shape or the number of labels differs.
 */
export async function readIdxPair(imageFile: string, labelFile: string, sample: readonly number[], classes: number): Promise<DatasetSpec> {
  const images = await readIdx(imageFile, 3)
  const labels = await readIdx(labelFile, 1)
  const [count, height, width] = images.shape as [number, number, number]
  if (height !== sample[1] || width !== sample[2]) {
    throw corruptFile(imageFile, {
      expected: `images of ${sample[1]}x${sample[2]}`,
      found: `${height}x${width}`,
      fix: 'check that it belongs to this data set'
    })
  }
  if (labels.bytes.length !== count)
    throw corruptFile(labelFile, { expected: `${count} labels for the images of ${imageFile}`, found: `${labels.bytes.length}` })
  return { count, sample, samples: images.bytes, labels: checkedLabels(labels.bytes, classes, labelFile), classes }
}

function word(bytes: Uint8Array, offset: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset)
}
