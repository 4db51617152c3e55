import type { Random } from '../random.js'
import type { Segments } from './handwriting.js'

/** Draws anti-aliased lines on a square canvas (side, side) of intensities from 0 to 1; overlapping lines keep the higher intensity. */
export function drawLines(canvas: Float32Array, side: number, segments: Segments, radius: number, strength: number): void {
  const reach = radius + 0.5
  const squaredReach = reach * reach
  for (let i = 0; i < segments.length; i += 4) {
    const x0 = segments[i]!
    const y0 = segments[i + 1]!
    const dx = segments[i + 2]! - x0
    const dy = segments[i + 3]! - y0
    const squared = dx * dx + dy * dy
    const inverse = squared > 0 ? 1 / squared : 0
    // The pixels whose centres, at x + 0.5 and y + 0.5, can be within reach.
    const left = Math.max(0, Math.ceil(Math.min(x0, x0 + dx) - reach - 0.5))
    const right = Math.min(side - 1, Math.floor(Math.max(x0, x0 + dx) + reach - 0.5))
    const top = Math.max(0, Math.ceil(Math.min(y0, y0 + dy) - reach - 0.5))
    const bottom = Math.min(side - 1, Math.floor(Math.max(y0, y0 + dy) + reach - 0.5))
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) {
        const pixel = y * side + x
        const covered = canvas[pixel]!
        if (covered >= strength) continue
        const px = x + 0.5 - x0
        const py = y + 0.5 - y0
        const along = Math.min(1, Math.max(0, (px * dx + py * dy) * inverse))
        const ex = px - along * dx
        const ey = py - along * dy
        const squaredDistance = ex * ex + ey * ey
        if (squaredDistance > squaredReach) continue
        // The intensity rises linearly over one pixel across the edge of the line.
        const coverage = Math.min(1, reach - Math.sqrt(squaredDistance)) * strength
        if (coverage > covered) canvas[pixel] = coverage
      }
    }
  }
}

/** Blends the image with its 3x3 binomial blur: `share` 0 keeps the image, 1 gives the blur. */
export function blur(canvas: Float32Array, side: number, share: number): void {
  const rows = new Float32Array(canvas.length)
  for (let first = 0; first < canvas.length; first += side) {
    const last = first + side - 1
    for (let i = first; i <= last; i++)
      rows[i] = 0.5 * canvas[i]! + 0.25 * ((i > first ? canvas[i - 1]! : 0) + (i < last ? canvas[i + 1]! : 0))
  }
  for (let i = 0; i < canvas.length; i++) {
    const above = i >= side ? rows[i - side]! : 0
    const below = i + side < canvas.length ? rows[i + side]! : 0
    const blurred = 0.5 * rows[i]! + 0.25 * (above + below)
    canvas[i] = canvas[i]! + share * (blurred - canvas[i]!)
  }
}

/** A random short line near the border, as a distraction. */
export function randomScribble(random: Random, side: number): Segments {
  const across = random.between(0, side)
  const inwards = random.between(0, side * 0.2)
  const [x, y] = [
    [across, inwards],
    [across, side - inwards],
    [inwards, across],
    [side - inwards, across]
  ][random.below(4)] as [number, number]
  return [x, y, x + random.normal(side / 9), y + random.normal(side / 9)]
}

/** Converts intensities to bytes and adds noise of the given standard deviation. */
export function toPixels(canvas: Float32Array, noise: number, random: Random, image: Uint8Array): void {
  const errors = noise > 0 ? random.normals(image.length, noise) : undefined
  for (let i = 0; i < image.length; i++) {
    const intensity = canvas[i]! + (errors ? errors[i]! : 0)
    // The array of bytes truncates, and so the sum is rounded.
    image[i] = 255 * Math.min(1, Math.max(0, intensity)) + 0.5
  }
}
