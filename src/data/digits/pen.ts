import type { Random } from '../random.js'
import type { Skeleton, Stroke } from './skeletons.js'

/** Line pieces x0, y0, x1, y1 of drawn strokes, in pixels. */
export type Pieces = number[]

/** How one hand writes one digit: everything that differs from image to image, apart from the ink. */
export interface Hand {
  /** Pixel (x, y) = matrix * (skeleton point - middle) + centre. */
  readonly matrix: readonly [number, number, number, number]
  readonly centre: readonly [number, number]
  /** How far the hand misses a point of the skeleton, as a deviation in the skeleton's units. */
  readonly slip: number
  /** A smooth displacement: amplitude in the skeleton's units, radians a unit and phases. */
  readonly wobble: readonly { readonly amplitude: number; readonly rate: number; readonly phase: number }[]
}

const CURVE_PIECES = 4

/** A hand with its own rotation, shear, size, shift and wobble, for images of `side` pixels. */
export function anyHand(random: Random, side: number): Hand {
  const angle = random.bell(0.14)
  const shear = random.bell(0.2)
  const height = (side / 28) * random.between(1.15, 1.55)
  const width = height * random.between(0.65, 1.15)
  const cos = Math.cos(angle)
  const sin = Math.sin(angle)
  // rotation * shear * scale
  const matrix = [cos * width, (-sin - cos * shear) * height, sin * width, (cos - sin * shear) * height] as const
  const shift = (side / 28) * 0.8
  const centre = [side / 2 + random.bell(shift), side / 2 + random.bell(shift)] as const
  const wobble = Array.from({ length: 4 }, () => ({
    amplitude: random.between(0, 0.85),
    rate: random.between(0.25, 0.75),
    phase: random.between(0, 2 * Math.PI)
  }))
  return { matrix, centre, slip: random.between(0.1, 0.55), wobble }
}

/** The skeleton as that hand draws it. */
export function drawn(skeleton: Skeleton, hand: Hand, random: Random): Pieces {
  const pieces: Pieces = []
  for (const stroke of skeleton) drawStroke(stroke, hand, random, pieces)
  return pieces
}

function drawStroke(stroke: Stroke, hand: Hand, random: Random, pieces: Pieces): void {
  const { matrix, centre, wobble } = hand
  let end: number[] = []
  let last: [number, number] | undefined
  const lineTo = (x: number, y: number): void => {
    const u = x - 5 + wobble[0]!.amplitude * wave(wobble[0]!, y) + wobble[1]!.amplitude * wave(wobble[1]!, x)
    const v = y - 7 + wobble[2]!.amplitude * wave(wobble[2]!, x) + wobble[3]!.amplitude * wave(wobble[3]!, y)
    const point: [number, number] = [centre[0] + matrix[0] * u + matrix[1] * v, centre[1] + matrix[2] * u + matrix[3] * v]
    if (last) pieces.push(last[0], last[1], point[0], point[1])
    last = point
  }
  for (const run of stroke) {
    const points = [...end, ...run.map((value) => value + random.bell(hand.slip))]
    followCurve(points, lineTo)
    end = points.slice(-2)
  }
}

function wave(of: { readonly rate: number; readonly phase: number }, at: number): number {
  return Math.sin(of.rate * at + of.phase)
}

/** A uniform Catmull-Rom spline through the points, its end points doubled. */
function followCurve(points: readonly number[], lineTo: (x: number, y: number) => void): void {
  const count = points.length / 2
  const at = (i: number, axis: number): number => points[2 * Math.min(Math.max(i, 0), count - 1) + axis]!
  lineTo(at(0, 0), at(0, 1))
  // Only two points, that is a straight line, still get pieces: the hand's wobble bends them.
  for (let i = 0; i + 1 < count; i++) {
    for (let piece = 1; piece <= CURVE_PIECES; piece++) {
      const t = piece / CURVE_PIECES
      lineTo(spline(at(i - 1, 0), at(i, 0), at(i + 1, 0), at(i + 2, 0), t), spline(at(i - 1, 1), at(i, 1), at(i + 1, 1), at(i + 2, 1), t))
    }
  }
}

function spline(p0: number, p1: number, p2: number, p3: number, t: number): number {
  return p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)))
}
