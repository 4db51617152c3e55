import type { Draws } from '../random.js'

/** A rectangle of an image, in whole pixels. */
export interface Region {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** The size of an image in pixels. */
export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** The ranges of a random crop. */
export interface RandomCrop {
  /** The crop's share of the image's area. */
  readonly scale: readonly [number, number]
  /** The crop's width divided by its height. */
  readonly ratio: readonly [number, number]
}

const TRIES = 10

/**
 * A region of random area and aspect ratio, which is then scaled to the sample's size, as in torchvision's RandomResizedCrop: Szegedy et al.,
 * "Going deeper with convolutions", CVPR 2015. If ten tries do not fit into the image, the largest central region with an allowed ratio.
 */
export function randomRegion({ width, height }: ImageSize, { scale, ratio }: RandomCrop, draws: Draws): Region {
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
  return centred({ width, height }, Math.min(width, height * aspect), Math.min(height, width / aspect))
}

/** The centre of an image that has a share of its width and of its height. */
export function centralPart(image: ImageSize, share: number): Region {
  return centred(image, image.width * share, image.height * share)
}

/** The central square whose side is `share` of the image's shorter side: a resize and centre crop in one. */
export function centralRegion(image: ImageSize, share: number): Region {
  const side = Math.min(image.width, image.height) * share
  return centred(image, side, side)
}

function centred(image: ImageSize, w: number, h: number): Region {
  const width = Math.max(1, Math.round(w))
  const height = Math.max(1, Math.round(h))
  return { left: Math.floor((image.width - width) / 2), top: Math.floor((image.height - height) / 2), width, height }
}

function between([low, high]: readonly [number, number], share: number): number {
  return low + (high - low) * share
}
