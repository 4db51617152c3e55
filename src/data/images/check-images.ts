import { availableParallelism } from 'node:os'
import { elements } from '../../model/graph.js'
import { corrupt } from '../faults.js'
import { ReadPool } from '../read-pool.js'
import { readThreads } from '../read-threads.js'
import type { FeedOptions, StreamedSamples } from '../streamed.js'

/** Samples of a task. */
const AT_ONCE = 16
/** Bad files that a message names. */
const NAMED = 5

/** Makes every sample once. Throws DATA_CORRUPT with the files that cannot be read, or leaves them out where they are to be skipped. */
export async function checkImages(parts: readonly StreamedSamples[], { threads, onBadSample }: FeedOptions): Promise<StreamedSamples[]> {
  await using pool = new ReadPool({ threads: readThreads(availableParallelism(), threads) })
  const bad = await Promise.all(parts.map((part) => badSamples(part, pool)))
  const all = bad.flatMap((found) => [...found])
  if (all.length > 0 && onBadSample !== 'skip') {
    const [[file, reason], ...others] = all.map(([at, why]) => [at, why] as const) as [
      readonly [string, string],
      ...(readonly [string, string])[]
    ]
    const more =
      others.length === 0
        ? ''
        : `, and ${others
            .slice(0, NAMED)
            .map(([name]) => name)
            .join(', ')}${others.length > NAMED ? ` and ${others.length - NAMED} more` : ''}`
    throw corrupt(file, 'an image', `${reason}${more}`, { mend: "replace or remove it, or pass such images over with onBadImage: 'skip'" })
  }
  return parts.map((part, i) => without(part, bad[i]!))
}

/** By item: why it cannot be made. */
async function badSamples({ items, sample, reader }: StreamedSamples, pool: ReadPool): Promise<Map<string, string>> {
  const size = elements(sample)
  const bad = new Map<string, string>()
  const starts = Array.from({ length: Math.ceil(items.length / AT_ONCE) }, (_, i) => i * AT_ONCE)
  // Nobody looks at the pixels: all may write to the same place.
  const memory = new SharedArrayBuffer(AT_ONCE * size)
  await Promise.all(
    starts.map(async (start) => {
      const chunk = items.slice(start, start + AT_ONCE)
      for (const { at, reason } of await pool.read({ reader, items: chunk, memory, offset: 0, size })) bad.set(chunk[at]!, reason)
    })
  )
  return bad
}

function without(part: StreamedSamples, bad: ReadonlyMap<string, string>): StreamedSamples {
  if (bad.size === 0) return part
  const kept = part.items.flatMap((item, i) => (bad.has(item) ? [] : [i]))
  if (kept.length === 0) throw corrupt(part.items[0]!, 'one image at least that can be read', 'none', { mend: 'replace the images' })
  return { ...part, count: kept.length, items: kept.map((i) => part.items[i]!), labels: Int32Array.from(kept, (i) => part.labels[i]!) }
}
