import type { Random } from '../random.js'
import type { Glyph, Stroke } from './glyphs.js'

/** Line segments x0, y0, x1, y1, ... in pixels. */
export type Segments = number[]

/** The random geometric distortion of one image: an affine map, and displacements of the points. */
export interface Distortion {
  /** Pixel (x, y) = matrix * (glyph point - centre of the box) + centre. */
  readonly matrix: readonly [number, number, number, number]
  readonly centre: readonly [number, number]
  /** Standard deviation of each point's displacement, in glyph units. */
  readonly jitter: number
  /** A smooth displacement by four sine waves: amplitude in glyph units, frequency in radians per unit, and phase. */
  readonly waves: readonly Wave[]
}

interface Wave {
  readonly amplitude: number
  readonly frequency: number
  readonly phase: number
}

/** Line segments between two points of a curve. */
const SEGMENTS_PER_SPAN = 4

/** A distortion with random rotation, shear, size, shift and displacements, for images of `side` pixels. */
export function randomDistortion(random: Random, side: number): Distortion {
  const angle = random.normal(0.14)
  const shear = random.normal(0.2)
  const height = (side / 28) * random.between(1.15, 1.55)
  const width = height * random.between(0.65, 1.15)
  const cos = Math.cos(angle)
  const sin = Math.sin(angle)
  // rotation * shear * scale
  const matrix = [cos * width, (-sin - cos * shear) * height, sin * width, (cos - sin * shear) * height] as const
  const shift = (side / 28) * 0.8
  const centre = [side / 2 + random.normal(shift), side / 2 + random.normal(shift)] as const
  const waves = Array.from({ length: 4 }, () => ({
    amplitude: random.between(0, 0.85),
    frequency: random.between(0.25, 0.75),
    phase: random.between(0, 2 * Math.PI)
  }))
  return { matrix, centre, jitter: random.between(0.1, 0.55), waves }
}

/** The line segments of a distorted glyph. */
export function writeGlyph(glyph: Glyph, distortion: Distortion, random: Random): Segments {
  const segments: Segments = []
  for (const stroke of glyph) writeStroke(stroke, distortion, random, segments)
  return segments
}

function writeStroke(stroke: Stroke, { matrix, centre, jitter, waves }: Distortion, random: Random, segments: Segments): void {
  let end: number[] = []
  let last: [number, number] | undefined
  const lineTo = (x: number, y: number): void => {
    const u = x - 5 + displacement(waves[0]!, y) + displacement(waves[1]!, x)
    const v = y - 7 + displacement(waves[2]!, x) + displacement(waves[3]!, y)
    const point: [number, number] = [centre[0] + matrix[0] * u + matrix[1] * v, centre[1] + matrix[2] * u + matrix[3] * v]
    if (last) segments.push(last[0], last[1], point[0], point[1])
    last = point
  }
  for (const curve of stroke) {
    const points = [...end, ...curve.map((value) => value + random.normal(jitter))]
    followCurve(points, lineTo)
    end = points.slice(-2)
  }
}

function displacement({ amplitude, frequency, phase }: Wave, at: number): number {
  return amplitude * Math.sin(frequency * at + phase)
}

/** Draws a uniform Catmull-Rom spline through the points, with its end points doubled. */
function followCurve(points: readonly number[], lineTo: (x: number, y: number) => void): void {
  const count = points.length / 2
  const at = (i: number, axis: number): number => points[2 * Math.min(Math.max(i, 0), count - 1) + axis]!
  lineTo(at(0, 0), at(0, 1))
  // A straight line is divided as well, because the waves bend it.
  for (let i = 0; i + 1 < count; i++) {
    for (let segment = 1; segment <= SEGMENTS_PER_SPAN; segment++) {
      const t = segment / SEGMENTS_PER_SPAN
      lineTo(spline(at(i - 1, 0), at(i, 0), at(i + 1, 0), at(i + 2, 0), t), spline(at(i - 1, 1), at(i, 1), at(i + 1, 1), at(i + 2, 1), t))
    }
  }
}

function spline(p0: number, p1: number, p2: number, p3: number, t: number): number {
  return p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)))
}
