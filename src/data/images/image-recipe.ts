import type { ColourJitter } from './colour-jitter.js'
import type { RandomCrop } from './random-crop.js'

/** How image files become samples (channels, size, size). */
export interface ImageRecipe {
  readonly size: number
  readonly channels: 1 | 3
  /** The share of the shorter side that a centre crop keeps. */
  readonly centre: number
  /** Whether it keeps that share of both sides, and the square is a distorted image. */
  readonly stretch: boolean
  /** The crop of samples with draws; `false` for the centre crop. */
  readonly crop: RandomCrop | false
  readonly flip: boolean
  readonly colour: ColourJitter
}

/** Which region of an image becomes a sample, of which size. */
export type SquareRecipe = Pick<ImageRecipe, 'size' | 'centre' | 'stretch' | 'crop'>
