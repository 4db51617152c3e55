import { basename, resolve } from 'node:path'
import { invalidOption } from '../../errors.js'
import type { Dataset } from '../dataset.js'
import type { StreamedSamples } from '../streamed.js'
import { checkImages } from './check-images.js'
import type { Classes } from './classes.js'
import { imageFolderPlan, type ImageFolderOptions } from './image-options.js'
import type { ImageRecipe } from './image-reader.js'
import { splitImages } from './split-classes.js'

const READER = new URL('./image-reader.js', import.meta.url).href

/**
 * A Dataset of image files, decoded while the learners train. `path` has a folder `train` and a folder `test` (or `val`) with a folder for
 * each class in each, or a folder for each class: a share is held out then. Classes are numbered by their sorted names. Files may be JPEG,
 * PNG, WebP, GIF, TIFF and AVIF of any size.
 *
 * What is random of a sample is a function of the job's seed and of the sample's position in the sequence of epochs, whatever thread
 * decodes it.
 *
 * Throws INVALID_OPTION, DATA_NOT_FOUND, and DATA_CORRUPT with the file or folder.
 */
export async function imageFolder(path: string, options: ImageFolderOptions = {}): Promise<Dataset> {
  if (typeof path !== 'string' || path === '') throw invalidOption('path', path, 'name a folder of images')
  const root = resolve(path)
  const { name = basename(root), recipe, normalisation, testFraction, seed, check, feed } = imageFolderPlan(options)
  const { classNames, ...parts } = await splitImages(root, { fraction: testFraction, seed })
  const samples = (classes: Classes) => samplesOf(classes, classNames, recipe)
  const [train, test] = [samples(parts.train), samples(parts.test)]
  const kept = check ? await checkImages([train, test], feed) : [train, test]
  return {
    name,
    sample: train.sample,
    classes: classNames.length,
    classNames,
    train: kept[0]!,
    test: kept[1]!,
    ...normalisation,
    augmentation: { padding: 0, flip: false },
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
