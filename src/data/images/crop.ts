import type { Draws } from '../order.js'

/** A rectangle of an image, in whole pixels. */
export interface Region {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

export interface Extent {
  readonly width: number
  readonly height: number
}

/** How much of an image a random crop takes: its share of the area, and its width over its height. */
export interface RandomCrop {
  readonly scale: readonly [number, number]
  readonly ratio: readonly [number, number]
}

const TRIES = 10

/**
 * A region of random area and aspect, to be scaled to the sample's size: Szegedy et al., "Going deeper with convolutions", CVPR 2015, as
 * torchvision's RandomResizedCrop has it. Where ten tries do not fit the image it is the middle, as large as the aspects allow.
 */
export function randomRegion({ width, height }: Extent, { scale, ratio }: RandomCrop, draws: Draws): Region {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const [forArea, forRatio, forLeft, forTop] = draws.four(attempt)
    const area = width * height * between(scale, forArea)
    const aspect = Math.exp(between([Math.log(ratio[0]), Math.log(ratio[1])], forRatio))
    const w = Math.round(Math.sqrt(area * aspect))
    const h = Math.round(Math.sqrt(area / aspect))
    if (w < 1 || h < 1 || w > width || h > height) continue
    return { left: Math.floor(forLeft * (width - w + 1)), top: Math.floor(forTop * (height - h + 1)), width: w, height: h }
  }
  const aspect = Math.min(Math.max(width / height, ratio[0]), ratio[1])
  return middle({ width, height }, Math.min(width, height * aspect), Math.min(height, width / aspect))
}

/** The square in the middle whose side is the `share` of the shorter side: an image scaled and cut at its centre. */
export function centralRegion(image: Extent, share: number): Region {
  const side = Math.min(image.width, image.height) * share
  return middle(image, side, side)
}

function middle(image: Extent, w: number, h: number): Region {
  const width = Math.max(1, Math.round(w))
  const height = Math.max(1, Math.round(h))
  return { left: Math.floor((image.width - width) / 2), top: Math.floor((image.height - height) / 2), width, height }
}

function between([low, high]: readonly [number, number], share: number): number {
  return low + (high - low) * share
}
