import type { Random } from '../random.js'
import type { Pieces } from './pen.js'

/** Lays ink on a square canvas: `canvas` holds coverage from 0 to 1, and keeps the darker of old and new. */
export function ink(canvas: Float32Array, side: number, pieces: Pieces, radius: number, strength: number): void {
  const reach = radius + 0.5
  for (let i = 0; i < pieces.length; i += 4) {
    const x0 = pieces[i]!
    const y0 = pieces[i + 1]!
    const dx = pieces[i + 2]! - x0
    const dy = pieces[i + 3]! - y0
    const squared = dx * dx + dy * dy
    const inverse = squared > 0 ? 1 / squared : 0
    const left = Math.max(0, Math.floor(Math.min(x0, x0 + dx) - reach))
    const right = Math.min(side - 1, Math.ceil(Math.max(x0, x0 + dx) + reach))
    const top = Math.max(0, Math.floor(Math.min(y0, y0 + dy) - reach))
    const bottom = Math.min(side - 1, Math.ceil(Math.max(y0, y0 + dy) + reach))
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) {
        const px = x + 0.5 - x0
        const py = y + 0.5 - y0
        const along = Math.min(1, Math.max(0, (px * dx + py * dy) * inverse))
        const ex = px - along * dx
        const ey = py - along * dy
        const distance = Math.sqrt(ex * ex + ey * ey)
        // A pixel is covered by how far its middle lies inside the stroke's edge, over one pixel.
        const coverage = Math.min(1, reach - distance) * strength
        const pixel = y * side + x
        if (coverage > canvas[pixel]!) canvas[pixel] = coverage
      }
    }
  }
}

/** A 3x3 binomial blur, mixed with the sharp image by `share`. */
export function blur(canvas: Float32Array, side: number, share: number): void {
  const rows = new Float32Array(canvas.length)
  for (let i = 0; i < canvas.length; i++) {
    const x = i % side
    rows[i] = 0.5 * canvas[i]! + 0.25 * ((x > 0 ? canvas[i - 1]! : 0) + (x + 1 < side ? canvas[i + 1]! : 0))
  }
  for (let i = 0; i < canvas.length; i++) {
    const blurred = 0.5 * rows[i]! + 0.25 * ((rows[i - side] ?? 0) + (rows[i + side] ?? 0))
    canvas[i] = canvas[i]! + share * (blurred - canvas[i]!)
  }
}

/** Scattered strokes that belong to no digit: short, thin, begun near the border. */
export function scribble(random: Random, side: number): Pieces {
  const across = random.between(0, side)
  const inwards = random.between(0, side * 0.2)
  const [x, y] = [
    [across, inwards],
    [across, side - inwards],
    [inwards, across],
    [side - inwards, across]
  ][random.below(4)] as [number, number]
  return [x, y, x + random.bell(side / 9), y + random.bell(side / 9)]
}

/** Ink as bytes, with the noise of paper and of the camera. */
export function develop(canvas: Float32Array, noise: number, random: Random, image: Uint8Array): void {
  for (let i = 0; i < image.length; i++) {
    const grain = noise > 0 ? random.bell(noise) : 0
    image[i] = Math.round(255 * Math.min(1, Math.max(0, canvas[i]! + grain)))
  }
}
