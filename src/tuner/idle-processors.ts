import { cpus } from 'node:os'
import { usableCores } from '../engine/machine.js'

/** How many processors have nothing to do, in the mean since it was asked last; undefined where other processors than ours are counted too. */
export class IdleProcessors {
  #idle = idleMilliseconds()
  #time = performance.now()

  take(): number | undefined {
    const before = { idle: this.#idle, time: this.#time }
    this.#idle = idleMilliseconds()
    this.#time = performance.now()
    const passed = this.#time - before.time
    if (this.#idle === undefined || before.idle === undefined || passed <= 0) return undefined
    return (this.#idle - before.idle) / passed
  }
}

function idleMilliseconds(): number | undefined {
  const all = cpus()
  return all.length === usableCores() ? all.reduce((sum, { times }) => sum + times.idle, 0) : undefined
}
