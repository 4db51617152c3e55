/** Types of entry points whose packages have types that their `exports` do not name. */

declare module 'comlink/dist/esm/comlink.mjs' {
  export { expose, wrap } from 'comlink'
}

declare module 'comlink/dist/esm/node-adapter.mjs' {
  import type { Endpoint } from 'comlink'
  import type { MessagePort, Worker } from 'node:worker_threads'
  export default function nodeEndpoint(port: Worker | MessagePort): Endpoint
}

declare module 'threads' {
  type Asked<F> = F extends (...values: infer P) => infer R ? (...values: P) => Promise<R> : never
  export type ModuleThread<Methods> = { readonly [Name in keyof Methods]: Asked<Methods[Name]> }
  export class Worker {
    constructor(path: string)
  }
  export function spawn<T>(worker: Worker): Promise<T>
  export const Thread: { terminate(thread: unknown): Promise<void> }
}

declare module 'threads/worker' {
  export function expose(methods: object): void
}
