import type { Draws } from './order.js'

/**
 * Makes one sample of bytes into `to`. `draws` are its random numbers; undefined where the sample must be the same every time. A throw is
 * a sample that cannot be made.
 */
export type ReadSample = (item: string, to: Uint8Array, draws: Draws | undefined) => void | Promise<void>

/** What a reader's module exports as `openReader`; called once in each thread of the pool. */
export type OpenReader = (options: never) => ReadSample | Promise<ReadSample>
