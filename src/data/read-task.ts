import { messageOf } from '../errors.js'
import type { OpenReader, ReadSample } from './reader.js'
import { Draws } from './order.js'
import type { ReaderSpec } from './streamed.js'
import type { Words2 } from '../model/philox.js'

/** Samples to make, one behind the other, into memory that all threads share. */
export interface ReadTask {
  readonly reader: ReaderSpec
  readonly items: readonly string[]
  /** Of each sample, with the seed's key; absent where nothing is random. */
  readonly positions?: readonly number[]
  readonly key?: Words2
  readonly memory: SharedArrayBuffer
  /** Bytes before the first sample, and of one. */
  readonly offset: number
  readonly size: number
}

/** A sample that could not be made, by its place in the task. */
export interface BadSample {
  readonly at: number
  readonly reason: string
}

const readers = new Map<string, Promise<ReadSample>>()

/** Runs in a thread of the pool. Failures come back as data: an error would lose its fields on the way. */
export default async function read(task: ReadTask): Promise<readonly BadSample[]> {
  const { items, positions, key, memory, offset, size } = task
  const readSample = await opened(task.reader)
  const bad: BadSample[] = []
  for (const [at, item] of items.entries()) {
    const to = new Uint8Array(memory, offset + at * size, size)
    const draws = positions && key && new Draws(key, positions[at]!)
    try {
      await readSample(item, to, draws)
    } catch (error) {
      bad.push({ at, reason: messageOf(error) })
    }
  }
  return bad
}

/** One a thread for each module and its options. */
function opened({ module, options }: ReaderSpec): Promise<ReadSample> {
  const name = JSON.stringify([module, options])
  let reader = readers.get(name)
  if (!reader) {
    reader = import(module).then(({ openReader }: { openReader: OpenReader }) => openReader(options as never))
    readers.set(name, reader)
  }
  return reader
}
