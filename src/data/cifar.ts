import type { DatasetSpec } from '../engine/contract.js'
import { allocate, labelOutOfRange } from './checks.js'
import { ByteReader } from './compressed-file.js'

const SAMPLE = [3, 32, 32] as const
const PIXELS = 3 * 32 * 32
/** Records read at a time: about 0.3 MB. */
const BLOCK = 100

/** The layout of a file: records of one or more label bytes, of which one is used, then 3072 pixel bytes. */
export interface CifarLayout {
  /** Records of a file. */
  readonly records: number
  /** The number of classes of each label byte. */
  readonly labels: readonly number[]
  /** The label byte that is used. */
  readonly labelIndex: number
}

export const CIFAR_10: CifarLayout = { records: 10_000, labels: [10], labelIndex: 0 }
/** A coarse label (20 superclasses) before a fine label (100 classes). */
export const CIFAR_100_TRAIN: CifarLayout = { records: 50_000, labels: [20, 100], labelIndex: 1 }
export const CIFAR_100_TEST: CifarLayout = { ...CIFAR_100_TRAIN, records: 10_000 }

/**
 * Reads CIFAR batches in the binary layouts (Krizhevsky, "Learning multiple layers of features from tiny images", 2009), plain or
 * compressed with gzip or xz, concurrently. Samples (count, 3, 32, 32) in the order of the files.
 * Throws DATA_CORRUPT if a file does not have exactly `records` records, LABEL_OUT_OF_RANGE with file and record.
 */
export async function readCifar(files: readonly string[], layout: CifarLayout = CIFAR_10): Promise<DatasetSpec> {
  const { records } = layout
  const count = files.length * records
  const samples = allocate(count * PIXELS, files.join(', '))
  const labels = new Int32Array(count)
  const parts = files.map((file, i) => {
    const from = i * records
    return readBatch(file, layout, samples.subarray(from * PIXELS, (from + records) * PIXELS), labels.subarray(from, from + records))
  })
  // Waits for all, so that no file is still being read when an error is reported.
  for (const part of await Promise.allSettled(parts)) if (part.status === 'rejected') throw part.reason
  return { count, sample: SAMPLE, samples, labels, classes: layout.labels[layout.labelIndex]! }
}

function readBatch(file: string, layout: CifarLayout, samples: Uint8Array, labels: Int32Array): Promise<void> {
  const record = layout.labels.length + PIXELS
  return ByteReader.readAll(file, async (reader) => {
    for (let first = 0; first < labels.length; first += BLOCK) {
      const count = Math.min(BLOCK, labels.length - first)
      const block = await reader.take(count * record, `records ${first} to ${first + count - 1} of ${labels.length}`)
      for (let i = 0; i < count; i++) {
        // Checks unused labels too: one that is out of range shows that the file has another format.
        for (const [byte, classes] of layout.labels.entries()) {
          const label = block[i * record + byte]!
          if (label >= classes) throw labelOutOfRange(file, first + i, label, classes)
        }
        labels[first + i] = block[i * record + layout.labelIndex]!
        samples.set(block.subarray((i + 1) * record - PIXELS, (i + 1) * record), (first + i) * PIXELS)
      }
    }
  })
}
