import type { Draws } from '../random.js'

/** The ranges of random colour changes, as in torchvision's ColorJitter: factors from 1 - x to 1 + x, the hue by -x to x of a full turn. */
export interface ColourJitter {
  readonly brightness: number
  readonly contrast: number
  readonly saturation: number
  readonly hue: number
}

/** A 3x3 matrix, row by row, that maps (r, g, b) to new (r, g, b). */
export type ColourMatrix = readonly [number, number, number, number, number, number, number, number, number]

/** Maps a pixel x to contrast * (matrix x) + (1 - contrast) * g, where g is the mean grey of all matrix x. */
export interface ColourTransform {
  readonly matrix: ColourMatrix
  readonly contrast: number
}

/** The weights of red, green and blue in luminance (ITU-R BT.601). */
export const GREY_WEIGHTS = [0.299, 0.587, 0.114] as const

const IDENTITY: ColourMatrix = [1, 0, 0, 0, 1, 0, 0, 0, 1]
/** The index of the draws for colours; crops and flips use lower ones. */
const COLOUR_DRAW = 17

/** A random transform within the ranges; undefined if all ranges are 0. */
export function randomColourTransform({ brightness, contrast, saturation, hue }: ColourJitter, draws: Draws): ColourTransform | undefined {
  if (brightness === 0 && contrast === 0 && saturation === 0 && hue === 0) return undefined
  const [forBrightness, forContrast, forSaturation, forHue] = draws.four(COLOUR_DRAW).map((draw) => 2 * draw - 1) as [
    number,
    number,
    number,
    number
  ]
  // Linear maps in a fixed order; values are clipped once at the end.
  let matrix = IDENTITY
  if (saturation > 0) matrix = product(saturationMatrix(factor(saturation, forSaturation)), matrix)
  if (hue > 0) matrix = product(hueRotation(2 * Math.PI * hue * forHue), matrix)
  if (brightness > 0) matrix = matrix.map((weight) => weight * factor(brightness, forBrightness)) as unknown as ColourMatrix
  return { matrix, contrast: contrast > 0 ? factor(contrast, forContrast) : 1 }
}

function factor(range: number, draw: number): number {
  return Math.max(0, 1 + range * draw)
}

/** 0 gives grey, 1 the identity, more a higher saturation. */
function saturationMatrix(by: number): ColourMatrix {
  const [r, g, b] = GREY_WEIGHTS.map((weight) => weight * (1 - by)) as [number, number, number]
  return [r + by, g, b, r, g + by, b, r, g, b + by]
}

/** Rotates the hue by an angle at constant luminance: a rotation of the I and Q components of YIQ. */
function hueRotation(angle: number): ColourMatrix {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  const toYiq: ColourMatrix = [...GREY_WEIGHTS, 0.595716, -0.274453, -0.321263, 0.211456, -0.522591, 0.311135]
  const fromYiq: ColourMatrix = [1, 0.9563, 0.621, 1, -0.2721, -0.6474, 1, -1.107, 1.7046]
  return product(fromYiq, product([1, 0, 0, 0, cos, -sin, 0, sin, cos], toYiq))
}

/** The map that applies b, then a. */
function product(a: ColourMatrix, b: ColourMatrix): ColourMatrix {
  const at = (row: number, column: number) => a[3 * row]! * b[column]! + a[3 * row + 1]! * b[3 + column]! + a[3 * row + 2]! * b[6 + column]!
  return [at(0, 0), at(0, 1), at(0, 2), at(1, 0), at(1, 1), at(1, 2), at(2, 0), at(2, 1), at(2, 2)]
}
