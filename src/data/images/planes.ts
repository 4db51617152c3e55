import { GREY, type ColourChange } from './colour.js'

export interface PlaneOptions {
  /** Mirrored left to right. */
  readonly flip: boolean
  /** For three channels. */
  readonly change?: ColourChange | undefined
}

/** From pixels as decoders give them, (size, size, channels), to planes as models take them, (channels, size, size). */
export function toPlanes(pixels: Uint8Array, size: number, channels: number, to: Uint8Array, { flip, change }: PlaneOptions): void {
  const area = size * size
  const turn = change && channels === 3 ? changed(pixels, change) : undefined
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const from = (row * size + column) * channels
      const at = row * size + (flip ? size - 1 - column : column)
      if (turn) turn(from, to, at, area)
      else for (let channel = 0; channel < channels; channel++) to[channel * area + at] = pixels[from + channel]!
    }
  }
}

/** Writes one changed pixel into its three planes. */
function changed(pixels: Uint8Array, { matrix, contrast }: ColourChange): (from: number, to: Uint8Array, at: number, area: number) => void {
  const [rr, rg, rb, gr, gg, gb, br, bg, bb] = matrix.map((weight) => weight * contrast) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number
  ]
  const grey = contrast === 1 ? 0 : (1 - contrast) * meanGrey(pixels, matrix)
  return (from, to, at, area) => {
    const r = pixels[from]!
    const g = pixels[from + 1]!
    const b = pixels[from + 2]!
    to[at] = byte(rr * r + rg * g + rb * b + grey)
    to[area + at] = byte(gr * r + gg * g + gb * b + grey)
    to[2 * area + at] = byte(br * r + bg * g + bb * b + grey)
  }
}

function meanGrey(pixels: Uint8Array, [rr, rg, rb, gr, gg, gb, br, bg, bb]: ColourChange['matrix']): number {
  const sums = [0, 0, 0] as [number, number, number]
  for (let i = 0; i < pixels.length; i += 3) {
    sums[0] += pixels[i]!
    sums[1] += pixels[i + 1]!
    sums[2] += pixels[i + 2]!
  }
  const [r, g, b] = sums.map((sum) => (3 * sum) / pixels.length) as [number, number, number]
  return GREY[0] * (rr * r + rg * g + rb * b) + GREY[1] * (gr * r + gg * g + gb * b) + GREY[2] * (br * r + bg * g + bb * b)
}

function byte(value: number): number {
  return value <= 0 ? 0 : value >= 255 ? 255 : Math.round(value)
}
