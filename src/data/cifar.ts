import type { DatasetSpec } from '../engine/contract.js'
import { ByteReader } from './byte-reader.js'
import { allocate, labelOutOfRange } from './faults.js'

const SAMPLE = [3, 32, 32] as const
const PIXELS = 3 * 32 * 32
/** Records read at a time: about 0.3 MB. */
const BLOCK = 100

/** How the records of a file are laid out: label bytes, of which one is taken, then 3072 pixel bytes. */
export interface CifarLayout {
  /** In each file. */
  readonly records: number
  /** How many classes each label byte tells apart. */
  readonly labels: readonly number[]
  /** The label byte that is taken. */
  readonly taken: number
}

export const CIFAR_10: CifarLayout = { records: 10_000, labels: [10], taken: 0 }
/** 100 classes in 20 groups: the coarse label stands before the fine one. */
export const CIFAR_100_TRAIN: CifarLayout = { records: 50_000, labels: [20, 100], taken: 1 }
export const CIFAR_100_TEST: CifarLayout = { ...CIFAR_100_TRAIN, records: 10_000 }

/**
 * Reads CIFAR batches in the binary layouts (Krizhevsky, "Learning multiple layers of features from tiny images", 2009), each plain or
 * packed with gzip or xz, at the same time: records of label bytes and 3072 pixel bytes, plane by plane. Samples (count, 3, 32, 32) in
 * the files' order.
 * Throws DATA_CORRUPT where a file does not hold exactly `records` records, LABEL_OUT_OF_RANGE with file and record.
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
  // All are waited for, so that no file is still being read when an error is reported.
  for (const part of await Promise.allSettled(parts)) if (part.status === 'rejected') throw part.reason
  return { count, sample: SAMPLE, samples, labels, classes: layout.labels[layout.taken]! }
}

function readBatch(file: string, layout: CifarLayout, samples: Uint8Array, labels: Int32Array): Promise<void> {
  const record = layout.labels.length + PIXELS
  return ByteReader.whole(file, async (reader) => {
    for (let first = 0; first < labels.length; first += BLOCK) {
      const count = Math.min(BLOCK, labels.length - first)
      const block = await reader.take(count * record, `records ${first} to ${first + count - 1} of ${labels.length}`)
      for (let i = 0; i < count; i++) {
        // A label out of range, also one that is not taken, shows that this is another kind of file.
        for (const [byte, classes] of layout.labels.entries()) {
          const label = block[i * record + byte]!
          if (label >= classes) throw labelOutOfRange(file, first + i, label, classes)
        }
        labels[first + i] = block[i * record + layout.taken]!
        samples.set(block.subarray((i + 1) * record - PIXELS, (i + 1) * record), (first + i) * PIXELS)
      }
    }
  })
}
