import { readFileSync } from 'node:fs'
import sharp, { type Sharp } from 'sharp'
import type { ReadSample } from '../dataset.js'
import type { Draws } from '../random.js'
import { randomColourTransform } from './colour-jitter.js'
import type { ImageRecipe, SquareRecipe } from './image-recipe.js'
import { decodingOf, toPlanes } from './pixels.js'
import { centralPart, centralRegion, randomRegion, type ImageSize, type Region } from './random-crop.js'

/** The index of the draw for the flip; crops use lower ones. */
const FLIP_DRAW = 16

/** The reduction from which scaling the whole image first is faster, because JPEG's decoder can decode at half the size and less. */
const SHRINK_ON_LOAD = 2

/** No cache, because each image is read once per epoch; no threads inside of libvips, because the pool has threads. */
export function useSharpInPool(): void {
  sharp.cache(false)
  sharp.concurrency(1)
}

/** Reads image files of the formats that sharp knows, rotated as their EXIF data says, with transparency on white. */
export function openReader(recipe: ImageRecipe): ReadSample {
  useSharpInPool()
  return async (path, to, draws) => {
    // Synchronously in this thread: libuv's few threads serve the whole process and decode images.
    const bytes = readFileSync(path)
    await readPart(await partOf(bytes, recipe, draws), to, recipe, draws)
  }
}

/** An image, its upright size, and the region of it that becomes a sample. */
export interface ImagePart {
  readonly image: Sharp
  readonly whole: ImageSize
  readonly region: Region
}

/** The part of an image file that becomes a sample: the centre crop without draws. */
export async function partOf(bytes: Uint8Array, recipe: SquareRecipe, draws?: Draws): Promise<ImagePart> {
  const image = sharp(bytes, decodingOf(bytes.length))
  const { autoOrient: whole } = await image.metadata()
  return { image, whole, region: regionOf(whole, recipe, draws) }
}

/** Writes the sample of a part, with the random changes of its colours. Returns whether it is mirrored. */
export async function readPart(part: ImagePart, to: Uint8Array, recipe: ImageRecipe, draws: Draws | undefined): Promise<boolean> {
  const { size: width, channels } = recipe
  const flip = recipe.flip && draws !== undefined && draws.four(FLIP_DRAW)[0] < 0.5
  const colour = draws && randomColourTransform(recipe.colour, draws)
  toPlanes(await resizedRegion(part, recipe), to, { width, channels, flip, colour })
  return flip
}

/** The bytes of an image file as pixels (size, size, 3): the centre crop. */
export async function sampleOf(bytes: Uint8Array, recipe: SquareRecipe): Promise<Buffer> {
  return resizedRegion(await partOf(bytes, recipe), recipe)
}

function regionOf(image: ImageSize, { crop, centre, stretch }: SquareRecipe, draws: Draws | undefined): Region {
  if (crop && draws) return randomRegion(image, crop, draws)
  return stretch ? centralPart(image, centre) : centralRegion(image, centre)
}

/** The region, scaled to (size, size): bytes (size, size, 3). */
function resizedRegion({ image, whole, region }: ImagePart, { size }: SquareRecipe): Promise<Buffer> {
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
