import { cpus } from 'node:os'
import { usableCores } from '../engine/machine.js'

/** Measures how many processors are idle. Unknown if the system counts processors that this process may not use. */
export class IdleProcessors {
  #idle = idleMilliseconds()
  #time = performance.now()

  /** The mean number since the last call; undefined if it is unknown. */
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
