/** How a process meets the other hosts of its run. A host that is silent for `deadline` seconds is lost; it sends a beat every second. */
export type HostsSpec = HostsLink & {
  readonly deadline: number
  /** Every message is announced by an envelope with a nonce that these hosts alone know; others are refused, and counted (`refusedMessages`). */
  readonly sealed?: boolean
  /** For tests: the number of forged envelopes that this host sends to the last host before its own messages. */
  readonly forges?: number
  /** How many of them it sends before each of its own; a hundredth, and one, if omitted. */
  readonly forgesAtOnce?: number
  /** For tests: the forged envelopes are well-formed, and announce messages that no host expects. */
  readonly floods?: boolean
}

/**
 * - `mpi`: the processes that a launcher of MPI has started. A process initialises MPI once. It may have several `links`: the ranks of the hosts of each, all of
 *   them if a list is empty; one link of all if omitted. Each is opened once, by its `number` in the list, on every one of its hosts; a host's rank in a link is its place in the list.
 * - `threads`: this process is `size` hosts at once, each with a handle of its own; those of one name meet each other. For tests. If the link `shrinks`, the
 *   others go on after the loss of a host.
 */
export type HostsLink =
  | { readonly kind: 'mpi'; readonly number?: number; readonly links?: readonly (readonly number[])[] }
  | { readonly kind: 'threads'; readonly name: string; readonly rank: number; readonly size: number; readonly shrinks?: boolean }

/** Which of the hosts this process is. */
export interface HostsPlace {
  /** From 0. */
  readonly rank: number
  readonly size: number
}

/** Messages that a sealed link has refused: those with the nonce of other hosts, with a wrong length, and with a key that no link has. */
export interface RefusedMessages {
  readonly nonces: number
  readonly lengths: number
  readonly keys: number
}

/** What the hosts of a run have measured of the links between them: the same figures on every host. Lists are by rank. */
export interface LinkFigures {
  /** In each of them every host sends to the one `distance` ranks after it, all at the same time; `bytesPerSecond` is what each receives. */
  readonly turns: readonly { readonly distance: number; readonly bytesPerSecond: readonly number[] }[]
  /** Seconds that a small message takes. */
  readonly latency: readonly number[]
  /** Seconds of the processor for each byte that a host sends or receives. */
  readonly secondsPerByte: readonly number[]
}
