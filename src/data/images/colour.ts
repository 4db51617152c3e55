import type { Draws } from '../order.js'

/** How far colours may change, as in torchvision's ColorJitter: factors within 1 - x to 1 + x, the hue within -x to x of a full turn. */
export interface ColourJitter {
  readonly brightness: number
  readonly contrast: number
  readonly saturation: number
  readonly hue: number
}

/** r, g and b as weighted sums of r, g and b: three rows of three. */
export type ColourMatrix = readonly [number, number, number, number, number, number, number, number, number]

/** A random change of colours: x becomes contrast * (matrix x) + (1 - contrast) * the mean grey of the changed image. */
export interface ColourChange {
  readonly matrix: ColourMatrix
  readonly contrast: number
}

/** The share of red, green and blue in what the eye takes for brightness (ITU-R BT.601). */
export const GREY = [0.299, 0.587, 0.114] as const

const UNCHANGED: ColourMatrix = [1, 0, 0, 0, 1, 0, 0, 0, 1]
/** Numbers of draws that crops do not use. */
const FACTORS = 17

/** Undefined where nothing is to change. */
export function colourChange({ brightness, contrast, saturation, hue }: ColourJitter, draws: Draws): ColourChange | undefined {
  if (brightness === 0 && contrast === 0 && saturation === 0 && hue === 0) return undefined
  const [forBrightness, forContrast, forSaturation, forHue] = draws.four(FACTORS).map((draw) => 2 * draw - 1) as [
    number,
    number,
    number,
    number
  ]
  // Saturation and hue act on colours, brightness on all: linear maps in a fixed order, clipped once at the end.
  let matrix = UNCHANGED
  if (saturation > 0) matrix = product(saturated(factor(saturation, forSaturation)), matrix)
  if (hue > 0) matrix = product(turned(2 * Math.PI * hue * forHue), matrix)
  if (brightness > 0) matrix = matrix.map((weight) => weight * factor(brightness, forBrightness)) as unknown as ColourMatrix
  return { matrix, contrast: contrast > 0 ? factor(contrast, forContrast) : 1 }
}

function factor(range: number, draw: number): number {
  return Math.max(0, 1 + range * draw)
}

/** From grey (0) over unchanged (1) to beyond. */
function saturated(by: number): ColourMatrix {
  const [r, g, b] = GREY.map((weight) => weight * (1 - by)) as [number, number, number]
  return [r + by, g, b, r, g + by, b, r, g, b + by]
}

/** Hues turned by an angle in the plane of equal brightness: a rotation of the I and Q of YIQ. */
function turned(angle: number): ColourMatrix {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  const toYiq: ColourMatrix = [...GREY, 0.595716, -0.274453, -0.321263, 0.211456, -0.522591, 0.311135]
  const fromYiq: ColourMatrix = [1, 0.9563, 0.621, 1, -0.2721, -0.6474, 1, -1.107, 1.7046]
  return product(fromYiq, product([1, 0, 0, 0, cos, -sin, 0, sin, cos], toYiq))
}

/** First b, then a. */
function product(a: ColourMatrix, b: ColourMatrix): ColourMatrix {
  const at = (row: number, column: number) => a[3 * row]! * b[column]! + a[3 * row + 1]! * b[3 + column]! + a[3 * row + 2]! * b[6 + column]!
  return [at(0, 0), at(0, 1), at(0, 2), at(1, 0), at(1, 1), at(1, 2), at(2, 0), at(2, 1), at(2, 2)]
}
