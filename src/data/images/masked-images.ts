import { basename, extname, join, relative } from 'node:path'
import { corruptFile } from '../../formats/file-errors.js'
import { NO_AUGMENTATION } from '../../model/augmentation.js'
import { absolutePath } from '../../node.js'
import { filesBelow, splitFiles } from '../class-folders.js'
import type { Dataset, StreamedSamples } from '../dataset.js'
import { IMAGES } from '../file-kinds.js'
import { checkImages } from './check-images.js'
import { maskedImagesPlan, type MaskedImagesOptions } from './masked-images-options.js'
import type { MaskedPlaces, MaskedRecipe } from './masked-reader.js'

const READER = new URL('./masked-reader.js', import.meta.url).href

/** As `maskedImages`. */
export async function openMaskedImages(options: MaskedImagesOptions): Promise<Dataset> {
  const plan = maskedImagesPlan(options)
  const { recipe, encoding, normalisation, testFraction, seed, check, feed, mask, classes, classNames } = plan
  const places = { images: absolutePath(plan.images), masks: absolutePath(plan.masks) }
  const parts = await splitFiles(places.images, IMAGES, { fraction: testFraction, seed })
  const extension = await extensionOfMasks([...parts.train, ...parts.test], places)
  const samples = (images: readonly string[]): StreamedSamples => ({
    count: images.length,
    sample: [recipe.channels, recipe.size, recipe.size],
    classes,
    label: [recipe.size, recipe.size],
    items: images,
    reader: { module: READER, options: { ...recipe, mask, extension } satisfies MaskedRecipe, place: places satisfies MaskedPlaces }
  })
  const both = [samples(parts.train), samples(parts.test)]
  const [train, test] = check ? await checkImages(both, feed) : both
  return {
    name: plan.name ?? basename(places.images),
    sample: train!.sample,
    classes,
    ...(classNames && { classNames }),
    train: train!,
    test: test!,
    ...normalisation,
    augmentation: NO_AUGMENTATION,
    encoding,
    feed
  }
}

/** The one extension of all masks. Throws DATA_CORRUPT for an image without a mask, and for masks of several extensions. */
async function extensionOfMasks(images: readonly string[], { images: root, masks }: MaskedPlaces): Promise<string> {
  const found = new Map((await filesBelow(masks, IMAGES)).map((path) => [withoutExtension(relative(masks, path)), extname(path)]))
  const extensions = new Map<string, string>()
  for (const image of images) {
    const name = withoutExtension(relative(root, image))
    const extension = found.get(name)
    if (extension === undefined)
      throw corruptFile(image, { expected: `its mask, ${join(masks, name)}.png`, found: 'none', fix: 'add the mask, or remove the image' })
    extensions.set(extension, `${name}${extension}`)
  }
  const [[extension] = [''], ...others] = extensions
  if (others.length > 0)
    throw corruptFile(masks, {
      expected: 'masks of one kind',
      found: [...extensions.values()].join(' and '),
      fix: 'save all of them as one kind of file'
    })
  return extension
}

function withoutExtension(path: string): string {
  return path.slice(0, path.length - extname(path).length)
}
