import { readFileSync } from 'node:fs'
import sharp, { type Sharp } from 'sharp'
import type { ReadSample } from '../dataset.js'
import type { Draws } from '../random.js'
import { randomColourTransform, type ColourJitter } from './colour-jitter.js'
import { decodingOf, toPlanes } from './pixels.js'
import { centralPart, centralRegion, randomRegion, type ImageSize, type RandomCrop, type Region } from './random-crop.js'

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

/** The index of the draw for the flip; crops use lower ones. */
const FLIP_DRAW = 16

/** The reduction from which scaling the whole image first is faster, because JPEG's decoder can decode at half the size and less. */
const SHRINK_ON_LOAD = 2

/** Reads image files of the formats that sharp knows, rotated as their EXIF data says, with transparency on white. */
export function openReader(recipe: ImageRecipe): ReadSample {
  // No cache, because each image is read once per epoch; no threads inside of libvips, because the pool has threads.
  sharp.cache(false)
  sharp.concurrency(1)
  return async (path, to, draws) => {
    // Synchronously in this thread: libuv's few threads serve the whole process and decode images.
    const bytes = readFileSync(path)
    const pixels = await sampleOf(bytes, recipe, draws)
    const flip = recipe.flip && draws !== undefined && draws.four(FLIP_DRAW)[0] < 0.5
    const colour = draws && randomColourTransform(recipe.colour, draws)
    toPlanes(pixels, to, { width: recipe.size, channels: recipe.channels, flip, colour })
  }
}

/** The bytes of an image file as pixels (size, size, 3): the centre crop without draws. */
export async function sampleOf(bytes: Uint8Array, recipe: SquareRecipe, draws?: Draws): Promise<Buffer> {
  const image = sharp(bytes, decodingOf(bytes.length))
  const { autoOrient: size } = await image.metadata()
  return resizedRegion(image, size, regionOf(size, recipe, draws), recipe)
}

function regionOf(image: ImageSize, { crop, centre, stretch }: SquareRecipe, draws: Draws | undefined): Region {
  if (crop && draws) return randomRegion(image, crop, draws)
  return stretch ? centralPart(image, centre) : centralRegion(image, centre)
}

/** The region, scaled to (size, size): bytes (size, size, 3). */
function resizedRegion(image: Sharp, whole: ImageSize, region: Region, { size }: SquareRecipe): Promise<Buffer> {
  const upright = image.autoOrient()
  const shrink = Math.min(region.width, region.height) / size
  const scaled =
    shrink < SHRINK_ON_LOAD ? upright.extract(region).resize(size, size, { fit: 'fill' }) : resizedFirst(upright, whole, region, size)
  return scaled.flatten({ background: '#fff' }).toColourspace('srgb').raw({ depth: 'uchar' }).toBuffer()
}

/** Resizes the whole image so that the region gets the wanted size, then extracts the region; differs by half a pixel at most. */
function resizedFirst(image: Sharp, original: ImageSize, { left, top, width, height }: Region, size: number): Sharp {
  const [across, down] = [size / width, size / height]
  const whole = { width: Math.max(size, Math.round(original.width * across)), height: Math.max(size, Math.round(original.height * down)) }
  const from = (start: number, by: number, most: number) => Math.min(Math.round(start * by), most - size)
  return image
    .resize(whole.width, whole.height, { fit: 'fill' })
    .extract({ left: from(left, across, whole.width), top: from(top, down, whole.height), width: size, height: size })
}
