import { Supervisor } from '../../src/actors/supervisor.js'
import { Synchroniser } from '../../src/actors/synchroniser.js'

/** How often each method was called since the last `messages.clear()`: `Synchroniser.status`. */
export const messages = new Map<string, number>()

class CountedSynchroniser extends Synchroniser {}
class CountedSupervisor extends Supervisor {}

for (const counted of [CountedSynchroniser, CountedSupervisor]) {
  const builtIn = Object.getPrototypeOf(counted) as { readonly name: string; readonly prototype: Record<string, unknown> }
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(builtIn.prototype))) {
    if (name === 'constructor' || typeof value !== 'function') continue
    const counting = function (this: object, ...args: unknown[]): unknown {
      const key = `${builtIn.name}.${name}`
      messages.set(key, (messages.get(key) ?? 0) + 1)
      return (value as (...values: unknown[]) => unknown).apply(this, args)
    }
    Object.defineProperty(counted.prototype, name, { value: counting, writable: true, configurable: true })
  }
}

export { CountedSynchroniser as Synchroniser, CountedSupervisor as Supervisor }
