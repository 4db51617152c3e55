import type { RuntimeEvent } from './events.js'
import { readActorMeter } from './meter.js'

/** The state of one actor at one moment. Sums run over all its incarnations; the difference of two snapshots covers the time between. */
export interface ActorSnapshot {
  /** A path: the parent's name, then its own. */
  readonly name: string
  /** The thread it runs in: 0 is the process's first. */
  readonly thread: number
  /** Messages in its mailbox. */
  readonly depth: number
  /** Whether it is handling a message. */
  readonly busy: boolean
  /** Deferred replies that it has not sent. */
  readonly deferred: number
  /** Messages handled so far. */
  readonly messages: number
  /** The messages that the two times are sums over. Of short turns one in many is timed and stands for its neighbours. */
  readonly timed: number
  /** Milliseconds from arrival to turn, summed over `timed`. */
  readonly waitTime: number
  /** Milliseconds of the turns, summed over `timed`. */
  readonly handleTime: number
  /** How many times it has been restarted. */
  readonly restarts: number
  /** Bytes of its thread's JavaScript heap and buffers, at most half a second before its last turn. Excludes the engine's memory. */
  readonly heap: number
}

interface RegisteredActor {
  readonly restarts: number
  readonly counters: SharedArrayBuffer
}

/** The running actors of a system, in all its threads, as its events report them. */
export class ActorRegistry {
  readonly #actors = new Map<string, RegisteredActor>()

  update(event: RuntimeEvent): void {
    if (event.event === 'started') this.#actors.set(event.actor, { restarts: event.restarts, counters: event.counters })
    else if (event.event === 'exited') this.#remove(event.actor)
    else if (event.event === 'restarting') this.#removeDescendants(event.actor)
  }

  snapshot(): readonly ActorSnapshot[] {
    return [...this.#actors].map(([name, actor]) => snapshotOf(name, actor))
  }

  #remove(actor: string): void {
    this.#actors.delete(actor)
    this.#removeDescendants(actor)
  }

  /** The children in a thread that was terminated report no exit of their own. */
  #removeDescendants(actor: string): void {
    for (const name of this.#actors.keys()) if (name.startsWith(`${actor}/`)) this.#actors.delete(name)
  }
}

/** Reads shared memory only: the actor is not interrupted. */
function snapshotOf(name: string, { restarts, counters }: RegisteredActor): ActorSnapshot {
  const { thread, arrived, begun, handled, timed, waited, busy, deferred, heap } = readActorMeter(counters)
  // Another thread writes meanwhile: two values may differ by a message.
  const depth = Math.max(0, arrived - begun)
  return {
    name,
    thread,
    depth,
    busy: begun > handled,
    deferred,
    messages: handled,
    timed,
    waitTime: waited,
    handleTime: busy,
    restarts,
    heap
  }
}
