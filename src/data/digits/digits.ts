import type { DatasetSpec } from '../../engine/contract.js'
import { eventLoopTurn } from '../../node.js'
import type { StoredDataset } from '../dataset.js'
import { check } from '../../schema/faults.js'
import { Random } from '../random.js'
import { blur, drawLines, randomScribble, toPixels } from './canvas.js'
import { GLYPHS } from './glyphs.js'
import { randomDistortion, writeGlyph } from './handwriting.js'
import { keptDigitsFile, readOrDraw } from './kept-digits.js'
import { DIGITS, digitsOptions } from './traits.js'

const SIDE = 28
const PIXELS = SIDE * SIDE

const DEFAULT_SAMPLES = 20_000
const DEFAULT_SEED = 0

/** The longest time for which generating digits blocks the event loop, in milliseconds. */
const SLICE = 8

/**
 * Generates a data set of handwritten digits (1, 28, 28): `samples` for training (20,000) and a tenth as many for testing. The same seed gives
 * the same images on every machine. Meant for a first run without files; a linear model reaches about 89%, LeNet 98 to 99%. Those of the defaults are drawn
 * once, and kept in the user's cache folder.
 */
export async function digits(options: { readonly samples?: number; readonly seed?: number } = {}): Promise<StoredDataset> {
  const { samples = DEFAULT_SAMPLES, seed = DEFAULT_SEED } = check(digitsOptions, options)
  const [train, test] = [partOf(samples), partOf(Math.ceil(samples / 10))]
  const draw = async (): Promise<void> => {
    await drawPart(train, seed, 0)
    await drawPart(test, seed, 1)
  }
  const kept = samples === DEFAULT_SAMPLES && seed === DEFAULT_SEED ? keptDigitsFile() : undefined
  await (kept === undefined ? draw() : readOrDraw(kept, [train.labels, train.samples, test.labels, test.samples], draw))
  return { name: 'digits', ...DIGITS, train: specOf(train), test: specOf(test) }
}

/** Images (count, 1, 28, 28) and their labels (count). */
interface DrawnPart {
  readonly labels: Uint8Array
  readonly samples: Uint8Array
}

function partOf(count: number): DrawnPart {
  return { labels: new Uint8Array(count), samples: new Uint8Array(count * PIXELS) }
}

function specOf({ labels, samples }: DrawnPart): DatasetSpec {
  return { count: labels.length, sample: DIGITS.sample, samples, labels: Int32Array.from(labels), classes: DIGITS.classes }
}

/**
 * Draws digits with balanced, shuffled labels. The images depend only on (seed, part); two parts of a seed share no image. Yields to the event loop every few
 * milliseconds.
 */
async function drawPart({ labels, samples }: DrawnPart, seed: number, part: number): Promise<void> {
  labels.set(new Random(seed, part, 0).shuffle(Int32Array.from(labels, (_, i) => i % GLYPHS.length)))
  const canvas = new Float32Array(PIXELS)
  let until = performance.now() + SLICE
  for (let i = 0; i < labels.length; i++) {
    drawDigit(labels[i]!, new Random(seed, part, i + 1), canvas, samples.subarray(i * PIXELS, (i + 1) * PIXELS))
    if (performance.now() < until) continue
    await eventLoopTurn()
    until = performance.now() + SLICE
  }
}

/** Draws one digit in light grey on black. */
function drawDigit(digit: number, random: Random, canvas: Float32Array, image: Uint8Array): void {
  const glyphs = GLYPHS[digit]!
  canvas.fill(0)
  const segments = writeGlyph(glyphs[random.below(glyphs.length)]!, randomDistortion(random, SIDE), random)
  drawLines(canvas, SIDE, segments, random.between(0.7, 1.6), random.between(0.7, 1))
  for (let scribbles = random.chance(0.25) ? 1 + random.below(2) : 0; scribbles > 0; scribbles--) {
    drawLines(canvas, SIDE, randomScribble(random, SIDE), random.between(0.3, 0.9), random.between(0.3, 0.9))
  }
  if (random.chance(0.4)) blur(canvas, SIDE, random.between(0.3, 1))
  toPixels(canvas, random.chance(0.5) ? random.between(0.02, 0.12) : 0, random, image)
}
