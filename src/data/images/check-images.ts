import { availableParallelism } from 'node:os'
import { ArbalestError } from '../../errors.js'
import { corruptFile } from '../../formats/file-errors.js'
import type { FeedOptions, StreamedSamples } from '../dataset.js'
import { ReaderPool, readerThreads } from '../reader-pool.js'
import { bytesOfBatch, chosenOf, partOfBatch } from '../streamed-batch.js'

/** Samples of a task of the check. */
const TASK_SAMPLES = 16
/** The most unreadable files that a message names beside the first. */
const FILES_NAMED = 5

/** Reads every sample once. Throws DATA_CORRUPT with the unreadable files, or omits them if they are to be skipped. */
export async function checkImages(
  parts: readonly StreamedSamples[],
  { threads, onBadSample }: FeedOptions,
  stop?: AbortSignal
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
async function unreadableItems(samples: StreamedSamples, pool: ReaderPool): Promise<Map<string, string>> {
  const { items, reader } = samples
  const unreadable = new Map<string, string>()
  const starts = Array.from({ length: Math.ceil(items.length / TASK_SAMPLES) }, (_, i) => i * TASK_SAMPLES)
  // The pixels are not used, so all tasks write to the same memory.
  const memory = new SharedArrayBuffer(bytesOfBatch(samples, TASK_SAMPLES))
  await Promise.all(
    starts.map(async (start) => {
      const some = items.slice(start, start + TASK_SAMPLES)
      for (const { index, reason } of await pool.read({ reader, items: some, memory, ...partOfBatch(samples, TASK_SAMPLES, 0) }))
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
  return chosenOf(part, kept)
}
