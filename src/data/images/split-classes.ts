import { join } from 'node:path'
import { corrupt } from '../faults.js'
import { Random } from '../random.js'
import { foldersIn, readClasses, type Classes } from './classes.js'

/** Images to learn from and images to be measured on. */
export interface ImageSplit {
  readonly classNames: readonly string[]
  readonly train: Classes
  readonly test: Classes
}

/** Names of folders that hold images to be measured on; the first there is is taken. */
const HELD_OUT = ['test', 'val', 'validation']

/**
 * `path/train` and one of `path/test`, `path/val` and `path/validation`, with a folder for each class in each; or one tree of folders, of
 * which a share of each class is held out, chosen by the seed.
 * Throws DATA_NOT_FOUND, and DATA_CORRUPT where there is nothing to hold out or the parts have different classes.
 */
export async function splitImages(path: string, { fraction, seed }: { fraction: number; seed: number }): Promise<ImageSplit> {
  const folders = await foldersIn(path)
  // A class may be called train: then it has neighbours that are no parts of a data set.
  const isSplit = folders.includes('train') && folders.every((name) => name === 'train' || HELD_OUT.includes(name))
  const all = await readClasses(isSplit ? join(path, 'train') : path)
  const classNames = [...all.keys()]
  const heldOut = isSplit ? HELD_OUT.find((name) => folders.includes(name)) : undefined
  if (heldOut === undefined) return { classNames, ...held(all, path, fraction, seed) }
  const test = await readClasses(join(path, heldOut), 1)
  const stranger = [...test.keys()].find((name) => !all.has(name))
  if (stranger !== undefined)
    throw corrupt(join(path, heldOut, stranger), `a class that ${join(path, 'train')} has too`, 'one that it lacks', {
      mend: 'give it images to learn from, or remove the folder'
    })
  return { classNames, train: all, test }
}

/** A share of each class, but never all of it. */
function held(all: Classes, path: string, fraction: number, seed: number): Pick<ImageSplit, 'train' | 'test'> {
  const train = new Map<string, readonly string[]>()
  const test = new Map<string, readonly string[]>()
  for (const [at, [name, images]] of [...all].entries()) {
    const order = new Random(seed, at).shuffle(Int32Array.from(images, (_, i) => i))
    const count = Math.min(images.length - 1, Math.max(1, Math.round(images.length * fraction)))
    const part = (chosen: Int32Array) => Array.from(chosen.sort(), (i) => images[i]!)
    train.set(name, part(order.slice(count)))
    if (count > 0) test.set(name, part(order.slice(0, count)))
  }
  if (test.size === 0)
    throw corrupt(path, 'a second image in one class at least, to be measured on', 'one a class', {
      mend: 'add images, or put those to be measured on into a folder test beside train'
    })
  return { train, test }
}
