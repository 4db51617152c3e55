import { parentPort } from 'node:worker_threads'
import { Counter } from './counter.js'

export type RawMessage =
  { readonly id: number; readonly method: string; readonly value: number } | readonly (readonly [method: string, value: number])[]
export interface RawAnswer {
  readonly id: number
  readonly value: number
}

const counter = new Counter()
const methods = counter as unknown as Record<string, (value: number) => number>

parentPort!.on('message', (message: RawMessage) => {
  if ('id' in message) parentPort!.postMessage({ id: message.id, value: methods[message.method]!(message.value) })
  else for (const [method, value] of message) methods[method]!(value)
})
