import { elements } from './graph.js'

/** Maps samples in 0 to 1 to the range that a model was trained with: x becomes (x - mean) / std. */
export interface Normalisation {
  /** One number for each channel, one for all channels, or none for 0. */
  readonly mean: readonly number[]
  /** One number above 0 for each channel, one for all channels, or none for 1. */
  readonly std: readonly number[]
}

/**
 * Normalises samples (n, channels, ...) into `to`, with the same arithmetic as the load operator of the engine: bytes are divided by 255, then
 * each channel is shifted and scaled. `shape` is that of one sample.
 */
export function normalise(
  samples: Float32Array | Uint8Array,
  { mean, std }: Normalisation,
  [channels = 1, ...pixels]: readonly number[],
  to: Float32Array
): void {
  const unit = samples.BYTES_PER_ELEMENT === 1 ? 255 : 1
  const area = elements(pixels)
  for (let i = 0; i < samples.length; i++) {
    const channel = Math.floor(i / area) % channels
    to[i] = (samples[i]! / unit - (mean[channel] ?? mean[0] ?? 0)) / (std[channel] ?? std[0] ?? 1)
  }
}
