import { Draws } from '../../src/data/random.js'
import type { ReadSample } from '../../src/data/dataset.js'
import { keyOf } from '../../src/model/philox.js'

/** The sides of a sample of one channel. */
export const SIDE = 6
export const CLASSES = 3
/** Numbers of a target. */
export const TARGET = 2

/** What the reader writes beside the pixels; `nothing`, `too much` and `part` are faults. */
export interface PixelReaderOptions {
  readonly writes: 'labels' | 'target' | 'none' | 'nothing' | 'too much' | 'part'
}

/** Sample `number`: its pixels, the class of each, -1 for some, and two numbers. */
export function pixelSample(number: number): { readonly pixels: number[]; readonly labels: number[]; readonly target: number[] } {
  const draws = new Draws(keyOf(7), number)
  const pixels = Array.from({ length: SIDE * SIDE }, (_, i) => Math.floor(256 * draws.four(i)[0]))
  const labels = pixels.map((pixel, i) => ((pixel + number) % 7 === 0 ? -1 : (pixel + i) % CLASSES))
  return { pixels, labels, target: [pixels[0]! / 255, pixels.at(-1)! / 255 - 1] }
}

export function openReader({ writes }: PixelReaderOptions): ReadSample {
  return (item, to, _draws, targets) => {
    const { pixels, labels, target } = pixelSample(Number(item))
    to.set(pixels)
    if (writes === 'labels') targets!.set(labels)
    if (writes === 'target') targets!.set(target)
    if (writes === 'too much') targets!.set(labels.map((_, i) => (i === 5 && item === '3' ? CLASSES : 0)))
    if (writes === 'part') targets!.set(labels.slice(1))
  }
}
