import { readFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import sharp from 'sharp'
import { messageOf } from '../../errors.js'
import type { ReadSample } from '../dataset.js'
import { partOf, readPart, useSharpInPool, type ImagePart } from './image-reader.js'
import type { ImageRecipe } from './image-recipe.js'
import type { MaskOptions } from './mask-options.js'
import { decodingOf } from './pixels.js'
import { writeClasses, type MaskScale } from './read-mask.js'

/** How images and their masks become samples (channels, size, size) with labels (size, size). */
export interface MaskedRecipe extends ImageRecipe {
  readonly mask: MaskOptions
  /** Of the masks' files. */
  readonly extension: string
}

/** The folders of images and of masks. */
export interface MaskedPlaces {
  readonly images: string
  readonly masks: string
}

/** Reads image files and, beside each, its mask: the same part of both, mirrored together. */
export function openReader(recipe: MaskedRecipe, { images, masks }: MaskedPlaces): ReadSample {
  useSharpInPool()
  const { size, extension } = recipe
  return async (path, to, draws, labels) => {
    const part = await partOf(readFileSync(path), recipe, draws)
    const flip = await readPart(part, to, recipe, draws)
    const mask = join(masks, `${relative(images, path).slice(0, -extname(path).length)}${extension}`)
    try {
      const bytes = readFileSync(mask)
      await checkSize(bytes, part)
      await writeClasses(bytes, scaleOf(part, size), labels as Int32Array, { ...recipe.mask, width: size })
    } catch (cause) {
      throw new Error(`in its mask ${mask}: ${messageOf(cause)}`, { cause })
    }
    if (flip) for (let row = 0; row < size; row++) labels!.subarray(row * size, (row + 1) * size).reverse()
  }
}

/** The same part of a mask, each pixel of which is the nearest one. */
function scaleOf({ region }: ImagePart, size: number): MaskScale {
  return (mask) => mask.extract(region).resize(size, size, { fit: 'fill', kernel: 'nearest' })
}

/** Throws an error for a mask that is not as large as its image. */
async function checkSize(mask: Uint8Array, { whole }: ImagePart): Promise<void> {
  const { autoOrient } = await sharp(mask, decodingOf(mask.length)).metadata()
  if (autoOrient.width === whole.width && autoOrient.height === whole.height) return
  throw new Error(`${autoOrient.width}x${autoOrient.height} pixels, where the image has ${whole.width}x${whole.height}`)
}
