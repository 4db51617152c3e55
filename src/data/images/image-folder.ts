import { basename } from 'node:path'
import { invalidOption } from '../../errors.js'
import { NO_AUGMENTATION } from '../../model/augmentation.js'
import { absolutePath } from '../../node.js'
import type { Dataset, StreamedSamples } from '../dataset.js'
import type { Classes } from '../class-folders.js'
import { checkImages } from './check-images.js'
import { splitImages } from './image-files.js'
import { imageFolderPlan, type ImageFolderOptions } from './image-options.js'
import type { ImageRecipe } from './image-recipe.js'

const READER = new URL('./image-reader.js', import.meta.url).href

/** How a folder is opened. */
export interface FolderOpening {
  /** Ends a check of its images with ABORTED. */
  readonly stop?: AbortSignal | undefined
  /** A folder with fewer classes is refused; 2 if omitted. */
  readonly leastClasses?: number | undefined
}

/** As `imageFolder`. */
export async function openImageFolder(
  path: string,
  options: ImageFolderOptions = {},
  { stop, leastClasses }: FolderOpening = {}
): Promise<Dataset> {
  if (typeof path !== 'string' || path === '') throw invalidOption('path', path, 'name a folder of images')
  const root = absolutePath(path)
  const { name = basename(root), recipe, encoding, normalisation, testFraction, seed, check, feed } = imageFolderPlan(options)
  const { classNames, ...parts } = await splitImages(root, { fraction: testFraction, seed, leastClasses })
  const samples = (classes: Classes) => samplesOf(classes, classNames, recipe)
  const [train, test] = [samples(parts.train), samples(parts.test)]
  const kept = check ? await checkImages([train, test], feed, stop) : [train, test]
  return {
    name,
    sample: train.sample,
    classes: classNames.length,
    classNames,
    train: kept[0]!,
    test: kept[1]!,
    ...normalisation,
    augmentation: NO_AUGMENTATION,
    encoding,
    feed
  }
}

function samplesOf(classes: Classes, classNames: readonly string[], recipe: ImageRecipe): StreamedSamples {
  const { size, channels } = recipe
  const labelled = [...classes].flatMap(([name, images]) => {
    const label = classNames.indexOf(name)
    return images.map((image) => ({ image, label }))
  })
  return {
    count: labelled.length,
    sample: [channels, size, size],
    classes: classNames.length,
    labels: Int32Array.from(labelled, ({ label }) => label),
    items: labelled.map(({ image }) => image),
    reader: { module: READER, options: recipe }
  }
}
