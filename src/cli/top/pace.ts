import type { ActorSnapshot } from '../../runtime/snapshot.js'

/** What an actor did between two looks at it. */
export interface ActorPace {
  /** Messages handled a second. */
  readonly rate: number
  /** Mean milliseconds from a message's arrival to its turn, and of a turn; null where none ended. */
  readonly wait: number | null
  readonly handle: number | null
  /** Share of the time that was spent in turns, 0 to 1. */
  readonly share: number
}

/** From its snapshots, `seconds` apart. An actor that is new is taken from its beginning. */
export function paceOf(before: ActorSnapshot | undefined, now: ActorSnapshot, seconds: number): ActorPace {
  const since = (key: 'messages' | 'timed' | 'waitTime' | 'handleTime') => Math.max(0, now[key] - (before?.[key] ?? 0))
  const [messages, timed] = [since('messages'), since('timed')]
  const mean = (total: number) => (timed > 0 ? total / timed : null)
  // A turn counts when it ends: one that lasts longer than the time between two looks fills all of it.
  const throughout = now.busy && messages === 0
  return {
    rate: messages / seconds,
    wait: mean(since('waitTime')),
    handle: mean(since('handleTime')),
    share: throughout ? 1 : Math.min(1, ((mean(since('handleTime')) ?? 0) * messages) / (1000 * seconds))
  }
}
