import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { ArbalestError, invalidOption } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import { NO_AUGMENTATION } from '../../model/augmentation.js'
import { elements } from '../../model/graph.js'
import { absolutePath } from '../../node.js'
import type { Dataset, FeedOptions, StreamedSamples } from '../dataset.js'
import { ReaderPool, readerThreads } from '../reader-pool.js'
import type { Classes } from '../class-folders.js'
import { splitImages } from './image-files.js'
import { imageFolderPlan, type ImageFolderOptions } from './image-options.js'
import type { ImageRecipe } from './image-reader.js'

const READER = new URL('./image-reader.js', import.meta.url).href

/** Samples of a task of the check. */
const TASK_SAMPLES = 16
/** The most unreadable files that a message names beside the first. */
const FILES_NAMED = 5

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

/** Reads every sample once. Throws DATA_CORRUPT with the unreadable files, or omits them if they are to be skipped. */
async function checkImages(
  parts: readonly StreamedSamples[],
  { threads, onBadSample }: FeedOptions,
  stop: AbortSignal | undefined
): Promise<StreamedSamples[]> {
  await using pool = await ReaderPool.start({ threads: readerThreads(availableParallelism(), threads) })
  const unreadable = await untilStopped(Promise.all(parts.map((part) => unreadableItems(part, pool))), stop)
  const [first, ...others] = unreadable.flatMap((found) => [...found])
  if (first && onBadSample !== 'skip') {
    const [file, reason] = first
    const named = others.slice(0, FILES_NAMED).map(([name]) => name)
    const rest = others.length > FILES_NAMED ? ` and ${others.length - FILES_NAMED} more` : ''
    const found = others.length > 0 ? `${reason}, and ${named.join(', ')}${rest}` : reason
    throw corruptFile(file, {
      expected: 'an image',
      found,
      fix: "replace or remove it, or skip such images with onBadImage: 'skip' (--on-bad-image skip)"
    })
  }
  return parts.map((part, i) => without(part, unreadable[i]!))
}

/** Rejects with ABORTED if it is stopped before. */
async function untilStopped<T>(work: Promise<T>, stop: AbortSignal | undefined): Promise<T> {
  let refuse = () => {}
  const stopped = new Promise<never>((_, reject) => {
    refuse = () => reject(new ArbalestError('ABORTED', 'check: the run was stopped while its images were checked'))
  })
  if (stop?.aborted) refuse()
  stop?.addEventListener('abort', refuse)
  try {
    return await Promise.race([work, stopped])
  } finally {
    stop?.removeEventListener('abort', refuse)
  }
}

/** The reason for each item that cannot be read. */
async function unreadableItems({ items, sample, reader }: StreamedSamples, pool: ReaderPool): Promise<Map<string, string>> {
  const size = elements(sample)
  const unreadable = new Map<string, string>()
  const starts = Array.from({ length: Math.ceil(items.length / TASK_SAMPLES) }, (_, i) => i * TASK_SAMPLES)
  // The pixels are not used, so all tasks write to the same memory.
  const memory = new SharedArrayBuffer(TASK_SAMPLES * size)
  await Promise.all(
    starts.map(async (start) => {
      const some = items.slice(start, start + TASK_SAMPLES)
      for (const { index, reason } of await pool.read({ reader, items: some, memory, offset: 0, size }))
        unreadable.set(some[index]!, reason)
    })
  )
  return unreadable
}

function without(part: StreamedSamples, unreadable: ReadonlyMap<string, string>): StreamedSamples {
  if (unreadable.size === 0) return part
  const kept = part.items.flatMap((item, i) => (unreadable.has(item) ? [] : [i]))
  if (kept.length === 0)
    throw corruptFile(part.items[0]!, { expected: 'at least one readable image', found: 'none', fix: 'replace the images' })
  return { ...part, count: kept.length, items: kept.map((i) => part.items[i]!), labels: Int32Array.from(kept, (i) => part.labels[i]!) }
}
