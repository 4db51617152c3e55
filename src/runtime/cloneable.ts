import type { MessagePort, Transferable } from 'node:worker_threads'
import { invalidOption } from '../errors.js'

type Plain = string | number | bigint | boolean | null | undefined | void

/** Objects with methods that structured cloning copies whole. */
type ClonedWhole = Date | RegExp | Error | ArrayBuffer | SharedArrayBuffer | ArrayBufferView | MessagePort

/** Compared as a whole: the conditional type below would follow a type of JSON, which is an array of itself, without end. */
type PlainData = Plain | readonly PlainData[] | { readonly [key: string]: PlainData }

/**
 * `T` if structured cloning can copy it to another thread; else a type without values, so that passing a function, a symbol or an object
 * with methods is a compile error. Values of type `unknown` are checked only when they are posted.
 */
export type Cloneable<T> = unknown extends T
  ? T
  : T extends Plain | ClonedWhole | PlainData
    ? T
    : T extends symbol | ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)
      ? never
      : T extends ReadonlyMap<infer K, infer V>
        ? ReadonlyMap<Cloneable<K>, Cloneable<V>>
        : T extends ReadonlySet<infer V>
          ? ReadonlySet<Cloneable<V>>
          : { [K in keyof T]: Cloneable<T[K]> }

const transferLists = new WeakMap<object, readonly Transferable[]>()

/**
 * Marks an argument, an answer or the options of an actor: the objects of `list`, which `value` contains, are moved to the receiver's thread instead of copied, and
 * the sender can no longer use them. Between actors of one thread nothing is moved.
 */
export function transfer<T extends object>(value: T, list: readonly Transferable[]): T {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function')
    throw invalidOption('value', value, 'use an object that contains what is moved')
  if (!Array.isArray(list)) throw invalidOption('list', list, 'use a list of the objects that are moved')
  transferLists.set(value, list)
  return value
}

/** Whether one of the values can be changed after it was sent: each but a primitive. */
export function canChange(values: readonly unknown[]): boolean {
  return values.some((value) => (typeof value === 'object' && value !== null) || typeof value === 'function')
}

/**
 * The values of a message that waits for its turn to be posted, as they are now: what its sender changes later does not reach them. Objects that they are marked to
 * transfer are moved, as in a message that is posted at once. What cannot be cloned is returned as it is, for the port refuses it.
 */
export function snapshotOf(values: readonly unknown[]): readonly unknown[] {
  if (!canChange(values)) return values
  const lists = values.map((value) => transfersOf([value], undefined))
  try {
    const copy = structuredClone({ values, lists }, { transfer: lists.flatMap((list) => list ?? []) as never })
    for (const [i, list] of copy.lists.entries()) if (list) transfer(copy.values[i] as object, list)
    return copy.values
  } catch {
    return values
  }
}

/** `found` together with the lists that the values are marked with; undefined if both are empty. */
export function transfersOf(values: readonly unknown[], found: Transferable[] | undefined): Transferable[] | undefined {
  let all = found
  for (const value of values) {
    const list = typeof value === 'object' && value !== null ? transferLists.get(value) : undefined
    if (list) all = [...(all ?? []), ...list]
  }
  return all
}
