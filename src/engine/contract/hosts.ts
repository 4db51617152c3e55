/** How a process meets the other hosts of its run. A host that is silent for `deadline` seconds is lost; it sends a beat every second. */
export type HostsSpec = HostsLink & { readonly deadline: number }

/**
 * - `mpi`: the processes that a launcher of MPI has started. A process initialises MPI once. It may have several `links`, one if omitted; each `number` below that
 *   is opened once, on every host.
 * - `threads`: this process is `size` hosts at once, each with a handle of its own; those of one name meet each other. For tests. If the link `shrinks`, the
 *   others go on after the loss of a host.
 */
export type HostsLink =
  | { readonly kind: 'mpi'; readonly number?: number; readonly links?: number }
  | { readonly kind: 'threads'; readonly name: string; readonly rank: number; readonly size: number; readonly shrinks?: boolean }

/** Which of the hosts this process is. */
export interface HostsPlace {
  /** From 0. */
  readonly rank: number
  readonly size: number
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
