import { methodProxy } from '../method-proxy.js'

/** A message that a probe has received. */
export interface Received {
  readonly method: string
  readonly args: readonly unknown[]
}

/** Where a probe writes down what it receives, and what it answers. */
export interface ProbeLog {
  readonly received: Received[]
  readonly answers: Readonly<Record<string, (...args: never[]) => unknown>>
}

/** An actor that takes every message, writes it down, and answers as it was told to; undefined if it was not. */
export class Probe {
  constructor({ received, answers }: ProbeLog) {
    return methodProxy((method, args) => {
      // Hooks of the runtime, not messages.
      if (['started', 'restarted', 'terminated', 'stopping'].includes(method)) return undefined
      received.push({ method, args })
      return answers[method]?.(...(args as never[]))
    })
  }
}
