import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isError, messageOf, shown } from '../errors.js'
import type { Words2 } from '../model/philox.js'
import { exportedNames, moduleRefusal, ownModule, placeInOwnFile, type ModuleMention } from '../own-module.js'
import { packError, type PortableError } from '../runtime/errors-across-threads.js'
import type { OpenReader, ReaderSpec, ReadSample } from './dataset.js'
import { Draws } from './random.js'
import type { BatchPart } from './streamed-batch.js'
import { faultOfTargets, unwrittenTargets } from './written-targets.js'

/** Samples to read, one after the other, into memory that all threads share. */
export interface ReadTask extends BatchPart {
  readonly reader: ReaderSpec
  /** Of the reader; two with one name are the same. */
  readonly name: string
  readonly items: readonly string[]
  /** The position of each sample in the sequence of epochs, and the seed's key; omitted if nothing is random. */
  readonly positions?: readonly number[]
  readonly key?: Words2
  readonly memory: SharedArrayBuffer
}

/** A sample that could not be read, by its index in the task. */
export interface UnreadableSample {
  readonly index: number
  readonly reason: string
}

/** What a task gives: the samples that could not be read, or why its reader cannot be used. As data, because an error that crosses threads of the pool loses its fields. */
export type ReadResult = { readonly unreadable: readonly UnreadableSample[] } | { readonly refused: PortableError }

const readers = new Map<string, Promise<ReadSample>>()

/** Runs in a thread of the pool. */
export default async function read(task: ReadTask): Promise<ReadResult> {
  try {
    return { unreadable: await readWith(await readerFor(task), task) }
  } catch (error) {
    return { refused: packError(error) }
  }
}

/** Throws INVALID_OPTION for a reader that does not write its samples. */
async function readWith(readSample: ReadSample, task: ReadTask): Promise<readonly UnreadableSample[]> {
  const { items, positions, key, memory, offset, size, targets } = task
  const unreadable: UnreadableSample[] = []
  for (const [index, item] of items.entries()) {
    const to = new Uint8Array(memory, offset + index * size, size)
    const draws = positions && key && new Draws(key, positions[index]!)
    const written = targets && unwrittenTargets(targets, memory, targets.offset + index * targets.size)
    let returned: unknown
    try {
      returned = await readSample(item, to, draws, written)
    } catch (error) {
      unreadable.push({ index, reason: reasonIn(error) })
      continue
    }
    if (isSample(returned, memory))
      throw moduleRefusal(
        mentionOf(task),
        'its reader returns a sample; let it write the bytes to its second argument, as by to.set(bytes)'
      )
    const fault = written && faultOfTargets(written, targets)
    if (fault?.isReaders) throw moduleRefusal(mentionOf(task), fault.reason)
    if (fault) unreadable.push({ index, reason: fault.reason })
  }
  return unreadable
}

/** Whether a reader has returned what it was to write. It may return the place to which it has written. */
function isSample(returned: unknown, memory: SharedArrayBuffer): boolean {
  return ArrayBuffer.isView(returned) ? returned.buffer !== memory : Array.isArray(returned)
}

/** Opens a reader once per thread. */
function readerFor(task: ReadTask): Promise<ReadSample> {
  const { name, reader } = task
  let opening = readers.get(name)
  if (!opening) {
    opening = opened(mentionOf(task), reader)
    readers.set(name, opening)
  }
  return opening
}

function mentionOf({ reader: { module } }: ReadTask): ModuleMention {
  return { parameter: 'reader.module', module: isAbsolute(module) ? pathToFileURL(module).href : module }
}

/** Throws INVALID_OPTION for a module that exports none, or whose `openReader` throws. */
async function opened(mention: ModuleMention, reader: ReaderSpec): Promise<ReadSample> {
  const exported = await ownModule(mention)
  const { openReader } = exported as { readonly openReader?: OpenReader }
  if (typeof openReader !== 'function')
    throw moduleRefusal(
      mention,
      `it exports ${exportedNames(exported)}; export a function openReader, which returns one that reads a sample`
    )
  const readSample = await madeBy(openReader, reader, mention)
  if (typeof readSample !== 'function')
    throw moduleRefusal(mention, `its openReader returns ${shown(readSample)}; return a function that reads a sample`)
  return readSample as ReadSample
}

async function madeBy(openReader: OpenReader, { options, place }: ReaderSpec, mention: ModuleMention): Promise<unknown> {
  try {
    return await openReader(options as never, place as never)
  } catch (cause) {
    throw moduleRefusal(mention, `its openReader throws: ${reasonIn(cause)}`, cause)
  }
}

/** In one line, with the place where a module of one's own has thrown it. */
function reasonIn(error: unknown): string {
  const place = isError(error) ? placeInOwnFile(error) : undefined
  return `${messageOf(error).split('\n')[0]}${place === undefined ? '' : ` (at ${place})`}`
}
