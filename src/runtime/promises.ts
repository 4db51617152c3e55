/** A promise that is settled from outside. (`Promise.withResolvers` needs Node.js 22.) */
export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

export function deferred<T = void>(): Deferred<T> {
  let settle!: Omit<Deferred<T>, 'promise'>
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }))
  return { promise, ...settle }
}

const RESOLVED = Promise.resolve()

/** Runs `turn`, which must not throw, as a microtask. `queueMicrotask` makes an AsyncResource for each: twice the cost of a small message. */
export function microtask(turn: () => void): void {
  void RESOLVED.then(turn)
}
