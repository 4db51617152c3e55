import { Worker } from 'node:worker_threads'
import type { Contestant } from './contestant.js'
import type { RawAnswer, RawMessage } from './post-message-worker.js'

const WORKER = new URL('./post-message-worker.js', import.meta.url)

/**
 * Bare postMessage, in the shortest form that works: a question is an object with an id, and a map has the questions that wait for an answer. Messages
 * without an answer are collected in an envelope of methods and arguments.
 */
export function openPostMessage(): Contestant {
  const worker = new Worker(WORKER)
  const waiting = new Map<number, (value: number) => void>()
  let lastId = 0
  let envelope: [method: string, value: number][] = []
  worker.on('message', ({ id, value }: RawAnswer) => {
    const resolve = waiting.get(id)!
    waiting.delete(id)
    resolve(value)
  })
  const post = (message: RawMessage) => worker.postMessage(message)
  const ask = (method: string, value: number) =>
    new Promise<number>((resolve) => {
      const id = ++lastId
      waiting.set(id, resolve)
      post({ id, method, value })
    })
  return {
    echo: (value) => ask('echo', value),
    add: (value) => void envelope.push(['add', value]),
    added: () => {
      post(envelope)
      envelope = []
      return ask('added', 0)
    },
    close: async () => void (await worker.terminate())
  }
}
