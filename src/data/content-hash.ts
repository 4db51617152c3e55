import { createHash } from 'node:crypto'
import { isStreamed, type Dataset } from './dataset.js'

/** Bytes at either end of the samples. */
const MOST_HASHED = 2 ** 22

/**
 * Tells data sets of one name and one shape apart: of the labels or file names of all training samples, of some of the samples themselves, and of how they are
 * prepared. Does not depend on the folder in which the files lie.
 */
export function contentHash({ train, mean, std, augmentation }: Dataset): string {
  const about = JSON.stringify({ mean: [...mean], std: [...std], augmentation })
  if (isStreamed(train)) {
    const { labels = new Int32Array(), targets, items } = train
    return hashOfParts([about, labels, ...(targets ? [targets.subarray(0, MOST_HASHED)] : []), ...items.map(nameOfItem)])
  }
  const { samples, labels, targets } = train
  const part = Math.min(samples.length, MOST_HASHED / samples.BYTES_PER_ELEMENT)
  const ends = [samples.subarray(0, part), samples.subarray(samples.length - part)]
  return hashOfParts([about, ...ends, labels ?? new Int32Array(), targets?.subarray(0, MOST_HASHED) ?? new Float32Array()])
}

/** Of a file: with its folder, which is its class. */
function nameOfItem(item: string): string {
  return item.split('/').slice(-2).join('/')
}

export function hashOf(part: string | NodeJS.TypedArray): string {
  return hashOfParts([part])
}

/** A list and not arguments, of which a call takes about a hundred thousand: a folder has millions of files. */
function hashOfParts(parts: readonly (string | NodeJS.TypedArray)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex').slice(0, 12)
}
