import { cpus } from 'node:os'

/** What other processes keep from this one: seconds that were measured beside them are not to be trusted. */
export class OtherWork {
  readonly #own = process.cpuUsage()
  readonly #busy = busyMilliseconds()
  readonly #began = performance.now()

  /** Cores that others kept busy, in the mean since this was made. */
  cores(): number {
    const { user, system } = process.cpuUsage(this.#own)
    const others = busyMilliseconds() - this.#busy - (user + system) / 1000
    return Math.max(0, others / (performance.now() - this.#began))
  }
}

/** Of all processors together. */
function busyMilliseconds(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0)
}
