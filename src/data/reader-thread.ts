import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, shown } from '../errors.js'
import type { Words2 } from '../model/philox.js'
import { exportedNames, moduleRefusal, ownModule } from '../own-module.js'
import type { OpenReader, ReaderSpec, ReadSample } from './dataset.js'
import { Draws } from './random.js'

/** Samples to read, one after the other, into memory that all threads share. */
export interface ReadTask {
  readonly reader: ReaderSpec
  /** Of the reader; two with one name are the same. */
  readonly name: string
  readonly items: readonly string[]
  /** The position of each sample in the sequence of epochs, and the seed's key; omitted if nothing is random. */
  readonly positions?: readonly number[]
  readonly key?: Words2
  readonly memory: SharedArrayBuffer
  /** Bytes before the first sample. */
  readonly offset: number
  /** Bytes of one sample. */
  readonly size: number
}

/** A sample that could not be read, by its index in the task. */
export interface UnreadableSample {
  readonly index: number
  readonly reason: string
}

const readers = new Map<string, Promise<ReadSample>>()

/** Runs in a thread of the pool. Returns failures as data, because an error that crosses threads loses its fields. */
export default async function read(task: ReadTask): Promise<readonly UnreadableSample[]> {
  const { items, positions, key, memory, offset, size } = task
  const readSample = await readerFor(task)
  const unreadable: UnreadableSample[] = []
  for (const [index, item] of items.entries()) {
    const to = new Uint8Array(memory, offset + index * size, size)
    const draws = positions && key && new Draws(key, positions[index]!)
    try {
      await readSample(item, to, draws)
    } catch (error) {
      unreadable.push({ index, reason: messageOf(error) })
    }
  }
  return unreadable
}

/** Throws INVALID_OPTION for a module that exports none, and any error of the module. */
async function opened(path: string, options: unknown): Promise<ReadSample> {
  const mention = { parameter: 'reader.module', module: isAbsolute(path) ? pathToFileURL(path).href : path }
  const exported = await ownModule(mention)
  const { openReader } = exported as { readonly openReader?: OpenReader }
  if (typeof openReader !== 'function')
    throw moduleRefusal(
      mention,
      `it exports ${exportedNames(exported)}; export a function openReader, which returns one that reads a sample`
    )
  const readSample: unknown = await openReader(options as never)
  if (typeof readSample !== 'function')
    throw moduleRefusal(mention, `its openReader returns ${shown(readSample)}; return a function that reads a sample`)
  return readSample as ReadSample
}

/** Opens a reader once per thread. */
function readerFor({ name, reader: { module, options } }: ReadTask): Promise<ReadSample> {
  let reader = readers.get(name)
  if (!reader) {
    reader = opened(module, options)
    readers.set(name, reader)
  }
  return reader
}
