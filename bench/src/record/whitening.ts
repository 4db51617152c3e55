import { eigen } from './eigen.js'

/** Added to each variance before its root is divided by, so that directions with hardly any variance are not blown up. */
const LEAST_VARIANCE = 5e-4

export interface Images {
  /** (count, channels, height, width), 0 to 255. */
  readonly samples: Uint8Array
  readonly sample: readonly number[]
}

/**
 * Filters (2 C K^2, C, K, K) whose outputs on normalised images have no correlation and a variance of about 1: the eigenvectors of the covariance of patches,
 * each divided by the root of its eigenvalue, and their negatives, the largest eigenvalue first.
 */
export function whiteningFilters(
  { samples, sample }: Images,
  {
    mean,
    std,
    kernel,
    count
  }: { readonly mean: readonly number[]; readonly std: readonly number[]; readonly kernel: number; readonly count: number }
): Float32Array {
  const [channels, height, width] = sample as [number, number, number]
  const size = channels * kernel * kernel
  const patch = new Float64Array(size)
  const sums = new Float64Array(size * size)
  let patches = 0
  for (let image = 0; image < count; image++) {
    for (let y = 0; y + kernel <= height; y++) {
      for (let x = 0; x + kernel <= width; x++) {
        let at = 0
        for (let c = 0; c < channels; c++) {
          const plane = (image * channels + c) * height
          for (let dy = 0; dy < kernel; dy++) {
            const row = (plane + y + dy) * width + x
            for (let dx = 0; dx < kernel; dx++) patch[at++] = (samples[row + dx]! / 255 - mean[c]!) / std[c]!
          }
        }
        for (let i = 0; i < size; i++) for (let j = 0; j <= i; j++) sums[i * size + j]! += patch[i]! * patch[j]!
        patches++
      }
    }
  }
  const covariance = Array.from({ length: size }, (_, i) =>
    Float64Array.from({ length: size }, (__, j) => sums[Math.max(i, j) * size + Math.min(i, j)]! / patches)
  )
  const { values, vectors } = eigen(covariance)
  const order = [...values.keys()].sort((a, b) => values[b]! - values[a]!)
  const filters = new Float32Array(2 * size * size)
  for (const [rank, which] of order.entries()) {
    const factor = 1 / Math.sqrt(values[which]! + LEAST_VARIANCE)
    for (let i = 0; i < size; i++) {
      const weight = factor * vectors[i]![which]!
      filters[rank * size + i] = weight
      filters[(size + rank) * size + i] = -weight
    }
  }
  return filters
}
