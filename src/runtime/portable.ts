import type { MessagePort } from 'node:worker_threads'

type Plain = string | number | bigint | boolean | null | undefined | void

/** What structured cloning takes whole, methods and all. */
type Cloned = Date | RegExp | Error | ArrayBuffer | SharedArrayBuffer | ArrayBufferView | MessagePort

/**
 * `T` where it can go to another thread; elsewhere a type that no value has, so that a function, a symbol or an object with methods does
 * not compile. What is `unknown` is looked at when it is posted.
 */
export type Portable<T> = unknown extends T
  ? T
  : T extends Plain | Cloned
    ? T
    : T extends symbol | ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)
      ? never
      : T extends ReadonlyMap<infer K, infer V>
        ? ReadonlyMap<Portable<K>, Portable<V>>
        : T extends ReadonlySet<infer V>
          ? ReadonlySet<Portable<V>>
          : { [K in keyof T]: Portable<T[K]> }
