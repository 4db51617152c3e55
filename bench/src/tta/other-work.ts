import { cpus } from 'node:os'

/** The processor time of other processes: times that are measured beside them are not reliable. */
export class OtherWork {
  readonly #own = process.cpuUsage()
  readonly #busy = busyMilliseconds()
  readonly #began = performance.now()

  /** The mean number of cores that other processes have kept busy since this object was made. */
  cores(): number {
    const { user, system } = process.cpuUsage(this.#own)
    const others = busyMilliseconds() - this.#busy - (user + system) / 1000
    return Math.max(0, others / (performance.now() - this.#began))
  }
}

/** The sum over all processors. */
function busyMilliseconds(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0)
}
