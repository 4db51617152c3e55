/** How often something may be restarted: so many times within a span of time, as an Erlang supervisor has it. */
export interface RestartLimits {
  readonly restarts: number
  /** Milliseconds. */
  readonly window: number
}

/** Counts the restarts of one place. */
export class RestartIntensity {
  readonly #limits: RestartLimits
  #times: number[] = []

  constructor(limits: RestartLimits) {
    this.#limits = limits
  }

  /** Whether one more restart now is within the limits; it counts where it is. `now` in milliseconds. */
  allows(now: number): boolean {
    this.#times = this.#times.filter((time) => now - time < this.#limits.window)
    if (this.#times.length >= this.#limits.restarts) return false
    this.#times.push(now)
    return true
  }
}
