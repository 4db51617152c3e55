import type { Engine, Handle } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'

/** How often this thread has called each function. */
export const counts = new Map<string, number>()

/** The group that was made last. */
export let group: Handle

/** The native engine, with its calls counted. */
export const engine: Engine = new Proxy(native, {
  get(target, name: keyof Engine) {
    const call = target[name] as ((...values: unknown[]) => unknown) | undefined
    // `await` asks any object for `then`.
    if (!call) return undefined
    return (...values: unknown[]) => {
      counts.set(name, (counts.get(name) ?? 0) + 1)
      const result = call(...values)
      if (name === 'createGroup') group = result as Handle
      return result
    }
  }
})
