import { Worker } from 'node:worker_threads'
import { wrap } from 'comlink/dist/esm/comlink.mjs'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import { unsupported, type Contestant } from './contestant.js'
import type { Counter } from './counter.js'

const WORKER = new URL('./comlink-worker.js', import.meta.url)

export function openComlink(): Contestant {
  const worker = new Worker(WORKER)
  const remote = wrap<Counter>(nodeEndpoint(worker))
  return {
    echo: (value) => remote.echo(value),
    add: () => unsupported('a message without an answer'),
    added: () => remote.added(),
    close: async () => void (await worker.terminate())
  }
}
