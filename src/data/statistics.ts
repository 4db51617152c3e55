/**
 * Mean and deviation of each channel of bytes (count, channels, ...), read as 0 to 1; a channel that never changes gets the deviation 1.
 */
export function pixelStatistics(pixels: Uint8Array, channels: number, count: number): { mean: number[]; deviation: number[] } {
  const area = pixels.length / count / channels
  const mean: number[] = []
  const deviation: number[] = []
  for (let channel = 0; channel < channels; channel++) {
    // Exact: whole numbers, below 2^53 for any array that fits in memory.
    let sum = 0
    let squares = 0
    for (let sample = 0; sample < count; sample++) {
      const from = (sample * channels + channel) * area
      for (let i = from; i < from + area; i++) {
        const pixel = pixels[i]!
        sum += pixel
        squares += pixel * pixel
      }
    }
    const average = sum / (count * area)
    const variance = squares / (count * area) - average * average
    mean.push(average / 255)
    deviation.push(variance > 1e-9 ? Math.sqrt(variance) / 255 : 1)
  }
  return { mean, deviation }
}
