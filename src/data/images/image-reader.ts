import { readFileSync } from 'node:fs'
import sharp, { type Sharp } from 'sharp'
import type { Draws } from '../order.js'
import type { ReadSample } from '../reader.js'
import { colourChange, type ColourJitter } from './colour.js'
import { centralRegion, randomRegion, type Extent, type RandomCrop, type Region } from './crop.js'
import { mostPixels } from './most-pixels.js'
import { toPlanes } from './planes.js'

/** How image files become samples (channels, size, size). */
export interface ImageRecipe {
  readonly size: number
  readonly channels: 1 | 3
  /** Of the shorter side: what is kept of an image that is cut at its centre. */
  readonly centre: number
  /** For samples with draws; `false`: cut at the centre too. */
  readonly crop: RandomCrop | false
  readonly flip: boolean
  readonly colour: ColourJitter
}

/** The draw for the flip; crops use those before. */
const FLIP = 16

/** The size above which scaling the whole image first is cheaper: JPEG's decoder can give an image at half its size and less. */
const SHRINKS = 2

/** Reads image files of any format that sharp knows, turned as their EXIF data says, transparency on white. */
export function openReader(recipe: ImageRecipe): ReadSample {
  // Each image is read once, and the threads of the pool are the parallel work: no cache, and no threads for one image.
  sharp.cache(false)
  sharp.concurrency(1)
  return async (path, to, draws) => {
    // Read in this thread: libuv's few are the whole process's, and have the decoding to do.
    const bytes = readFileSync(path)
    const image = sharp(bytes, { failOn: 'error', limitInputPixels: mostPixels(bytes.length) })
    const { autoOrient: extent } = await image.metadata()
    const pixels = await cut(image, extent, regionOf(extent, recipe, draws), recipe)
    const flip = recipe.flip && draws !== undefined && draws.four(FLIP)[0] < 0.5
    toPlanes(pixels, recipe.size, recipe.channels, to, { flip, change: draws && colourChange(recipe.colour, draws) })
  }
}

function regionOf(extent: Extent, { crop, centre }: ImageRecipe, draws: Draws | undefined): Region {
  return crop && draws ? randomRegion(extent, crop, draws) : centralRegion(extent, centre)
}

/** The region, scaled to (size, size): bytes, the channels of a pixel side by side. */
function cut(image: Sharp, extent: Extent, region: Region, { size, channels }: ImageRecipe): Promise<Buffer> {
  const upright = image.autoOrient()
  const shrink = Math.min(region.width, region.height) / size
  const scaled = shrink < SHRINKS ? upright.extract(region).resize(size, size, { fit: 'fill' }) : scaledFirst(upright, extent, region, size)
  return scaled
    .flatten({ background: '#fff' })
    .toColourspace(channels === 1 ? 'b-w' : 'srgb')
    .raw({ depth: 'uchar' })
    .toBuffer()
}

/** The whole image so that the region comes out as large as wanted, then the region: to half a pixel the same. */
function scaledFirst(image: Sharp, extent: Extent, { left, top, width, height }: Region, size: number): Sharp {
  const [across, down] = [size / width, size / height]
  const whole = { width: Math.max(size, Math.round(extent.width * across)), height: Math.max(size, Math.round(extent.height * down)) }
  const from = (start: number, by: number, most: number) => Math.min(Math.round(start * by), most - size)
  return image
    .resize(whole.width, whole.height, { fit: 'fill' })
    .extract({ left: from(left, across, whole.width), top: from(top, down, whole.height), width: size, height: size })
}
