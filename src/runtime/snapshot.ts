import type { RuntimeEvent } from './events.js'
import { readMeter } from './meter.js'

/** One actor as it stands now. Sums grow over all its lives: the difference of two snapshots tells of the time between. */
export interface ActorSnapshot {
  /** Below its parent's, as a path. */
  readonly name: string
  /** Where it lives: 0 is the process's first thread. */
  readonly thread: number
  /** Messages that wait in its mailbox. */
  readonly depth: number
  /** Whether it is at one. */
  readonly busy: boolean
  /** Answers that it works on between its turns. */
  readonly promised: number
  /** Messages handled so far. */
  readonly messages: number
  /** Of so many messages the times are known; short turns are sampled, each standing for those around it. */
  readonly timed: number
  /** Milliseconds, summed over `timed`: from arrival to turn, and of the turns themselves. */
  readonly waitTime: number
  readonly handleTime: number
  readonly restarts: number
  /** Bytes of its thread's JavaScript heap and buffers, by the last half second in which it worked. The engine's memory is not in it. */
  readonly heap: number
}

interface Counted {
  readonly restarts: number
  readonly figures: SharedArrayBuffer
}

/** The actors of a system, in every thread, by what the runtime's events say of them. */
export class Census {
  readonly #living = new Map<string, Counted>()

  note(event: RuntimeEvent): void {
    if (event.event === 'started') this.#living.set(event.actor, { restarts: event.restarts, figures: event.figures })
    else if (event.event === 'exited') this.#forget(event.actor)
    else if (event.event === 'restarting') this.#forgetBelow(event.actor)
  }

  snapshot(): readonly ActorSnapshot[] {
    return [...this.#living].map(([name, counted]) => snapshotOf(name, counted))
  }

  #forget(actor: string): void {
    this.#living.delete(actor)
    this.#forgetBelow(actor)
  }

  /** A thread that was killed does not tell of the children in it. */
  #forgetBelow(actor: string): void {
    for (const name of this.#living.keys()) if (name.startsWith(`${actor}/`)) this.#living.delete(name)
  }
}

/** Reads shared memory only: the actor is not asked and does not notice. */
function snapshotOf(name: string, { restarts, figures }: Counted): ActorSnapshot {
  const { thread, arrived, begun, handled, timed, waited, busy, promised, heap } = readMeter(figures)
  // Another thread writes meanwhile: what was read at different moments may disagree by a message.
  const depth = Math.max(0, arrived - begun)
  return {
    name,
    thread,
    depth,
    busy: begun > handled,
    promised,
    messages: handled,
    timed,
    waitTime: waited,
    handleTime: busy,
    restarts,
    heap
  }
}
