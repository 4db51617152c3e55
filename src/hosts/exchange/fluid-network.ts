/** A link, or anything else that can do so much in a second: move bytes, or be busy. */
export interface Resource {
  readonly name: string
  readonly capacity: number
}

/** Bytes that move through several resources at one rate. */
export interface Flow {
  readonly bytes: number
  /** How much a resource does for each byte of the flow: it moves several where equal flows share it, or is busy for a while. */
  readonly uses: ReadonlyMap<Resource, number>
}

interface Moving extends Flow {
  left: number
  rate: number
  readonly done: () => void
}

/** A flow is over when less is left: smaller amounts are errors of rounding. */
const NOTHING = 1e-6

/**
 * Flows that share resources, and events in time. The rates are max-min fair: no flow can have more without another that has no more than it having less
 * (progressive filling: Bertsekas and Gallager, Data Networks, 1992, section 6.5).
 */
export class FluidNetwork {
  readonly #moving = new Set<Moving>()
  readonly #events: { readonly at: number; readonly happens: () => void }[] = []
  #now = 0
  #changed = false

  /** Seconds since the beginning. */
  get now(): number {
    return this.#now
  }

  after(seconds: number, happens: () => void): void {
    const at = this.#now + seconds
    const later = this.#events.findIndex((event) => event.at > at)
    this.#events.splice(later < 0 ? this.#events.length : later, 0, { at, happens })
  }

  /** Begins to move the bytes of a flow, and calls `done` when the last has arrived. */
  move(flow: Flow, done: () => void): void {
    if (flow.bytes <= NOTHING) return this.after(0, done)
    this.#moving.add({ ...flow, left: flow.bytes, rate: 0, done })
    this.#changed = true
  }

  /** Until nothing moves and no event is left. */
  run(): void {
    while (this.#moving.size > 0 || this.#events.length > 0) {
      if (this.#changed) this.#share()
      const next = this.#events[0]?.at ?? Infinity
      const seconds = Math.min(next - this.#now, ...[...this.#moving].map(({ left, rate }) => left / rate))
      this.#now = Math.min(this.#now + seconds, next)
      for (const flow of this.#moving) flow.left -= flow.rate * seconds
      for (const flow of [...this.#moving].filter(({ left }) => left <= NOTHING)) {
        this.#moving.delete(flow)
        this.#changed = true
        flow.done()
      }
      while (this.#events.length > 0 && this.#events[0]!.at <= this.#now) this.#events.shift()!.happens()
    }
  }

  #share(): void {
    this.#changed = false
    const left = new Map<Resource, number>()
    const open = new Set(this.#moving)
    for (const { uses } of open) for (const resource of uses.keys()) left.set(resource, resource.capacity)
    while (open.size > 0) {
      const demand = new Map<Resource, number>()
      for (const { uses } of open) for (const [resource, times] of uses) demand.set(resource, (demand.get(resource) ?? 0) + times)
      const [tightest, rate] = [...demand]
        .map(([resource, times]) => [resource, left.get(resource)! / times] as const)
        .reduce((least, each) => (each[1] < least[1] ? each : least))
      for (const flow of open) {
        if (!flow.uses.has(tightest)) continue
        flow.rate = rate
        open.delete(flow)
        for (const [resource, times] of flow.uses) left.set(resource, Math.max(0, left.get(resource)! - times * rate))
      }
    }
  }
}
