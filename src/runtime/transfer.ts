import type { Transferable } from 'node:worker_threads'

const lists = new WeakMap<object, readonly Transferable[]>()

/**
 * Marks an argument or an answer: `list`, found somewhere in `value`, moves to the actor's thread and is not copied. The sender cannot
 * use it afterwards. Within one thread nothing moves.
 */
export function transfer<T extends object>(value: T, list: readonly Transferable[]): T {
  lists.set(value, list)
  return value
}

/** `found` and what the values were marked with; undefined while there is nothing. */
export function transfersOf(values: readonly unknown[], found: Transferable[] | undefined): Transferable[] | undefined {
  let all = found
  for (const value of values) {
    const list = typeof value === 'object' && value !== null ? lists.get(value) : undefined
    if (list) all = [...(all ?? []), ...list]
  }
  return all
}
