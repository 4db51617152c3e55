import { setImmediate as nextTurn } from 'node:timers/promises'
import { Random } from '../random.js'
import { blur, develop, ink, scribble } from './ink.js'
import { anyHand, drawn } from './pen.js'
import { SKELETONS } from './skeletons.js'

export const DIGIT_SIDE = 28
const PIXELS = DIGIT_SIDE * DIGIT_SIDE

/** How long the event loop is held at a time, in milliseconds. */
const SLICE = 8

/** Drawn digits: bytes (count, 1, 28, 28), light ink on a dark ground, and their labels (count), balanced and shuffled. */
export interface DrawnDigits {
  readonly images: Uint8Array
  readonly labels: Int32Array
}

/**
 * Draws `count` digits. The images are a function of (seed, part) alone; two parts of a seed share no image. Works in short slices, so
 * that the event loop goes on turning.
 */
export async function generateDigits(count: number, seed: number, part: number): Promise<DrawnDigits> {
  const labels = new Random(seed, part, 0).shuffle(Int32Array.from({ length: count }, (_, i) => i % SKELETONS.length))
  const images = new Uint8Array(count * PIXELS)
  const canvas = new Float32Array(PIXELS)
  let until = performance.now() + SLICE
  for (let i = 0; i < count; i++) {
    drawDigit(labels[i]!, new Random(seed, part, i + 1), canvas, images.subarray(i * PIXELS, (i + 1) * PIXELS))
    if (performance.now() < until) continue
    await nextTurn()
    until = performance.now() + SLICE
  }
  return { images, labels }
}

function drawDigit(digit: number, random: Random, canvas: Float32Array, image: Uint8Array): void {
  const ways = SKELETONS[digit]!
  canvas.fill(0)
  const pieces = drawn(ways[random.below(ways.length)]!, anyHand(random, DIGIT_SIDE), random)
  ink(canvas, DIGIT_SIDE, pieces, random.between(0.7, 1.6), random.between(0.7, 1))
  for (let scribbles = random.chance(0.25) ? 1 + random.below(2) : 0; scribbles > 0; scribbles--) {
    ink(canvas, DIGIT_SIDE, scribble(random, DIGIT_SIDE), random.between(0.3, 0.9), random.between(0.3, 0.9))
  }
  if (random.chance(0.4)) blur(canvas, DIGIT_SIDE, random.between(0.3, 1))
  develop(canvas, random.chance(0.5) ? random.between(0.02, 0.12) : 0, random, image)
}
