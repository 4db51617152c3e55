import type { DatasetSpec } from '../engine/contract.js'
import { ByteReader } from './byteReader.js'
import { allocate, labelOutOfRange } from './faults.js'

const SAMPLE = [3, 32, 32] as const
const PIXELS = 3 * 32 * 32
const RECORD = 1 + PIXELS
const CLASSES = 10
/** Records read at a time: about 0.3 MB. */
const BLOCK = 100

/**
 * Reads CIFAR-10 batches in the binary layout (Krizhevsky, "Learning multiple layers of features from tiny images", 2009), each plain or
 * packed with gzip or xz, at the same time: records of one label byte and 3072 pixel bytes, plane by plane. Samples (count, 3, 32, 32) in
 * the files' order.
 * Throws DATA_CORRUPT where a file does not hold exactly `records` records, LABEL_OUT_OF_RANGE with file and record.
 */
export async function readCifar(files: readonly string[], records = 10_000): Promise<DatasetSpec> {
  const count = files.length * records
  const samples = allocate(count * PIXELS, files.join(', '))
  const labels = new Int32Array(count)
  const parts = files.map((file, i) => {
    const from = i * records
    return readBatch(file, samples.subarray(from * PIXELS, (from + records) * PIXELS), labels.subarray(from, from + records))
  })
  // All are waited for, so that no file is still being read when an error is reported.
  for (const part of await Promise.allSettled(parts)) if (part.status === 'rejected') throw part.reason
  return { count, sample: SAMPLE, samples, labels, classes: CLASSES }
}

function readBatch(file: string, samples: Uint8Array, labels: Int32Array): Promise<void> {
  return ByteReader.whole(file, async (reader) => {
    for (let first = 0; first < labels.length; first += BLOCK) {
      const count = Math.min(BLOCK, labels.length - first)
      const block = await reader.take(count * RECORD, `records ${first} to ${first + count - 1} of ${labels.length}`)
      for (let i = 0; i < count; i++) {
        const label = block[i * RECORD]!
        if (label >= CLASSES) throw labelOutOfRange(file, first + i, label, CLASSES)
        labels[first + i] = label
        samples.set(block.subarray(i * RECORD + 1, (i + 1) * RECORD), (first + i) * PIXELS)
      }
    }
  })
}
