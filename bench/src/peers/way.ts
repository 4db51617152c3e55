import type { Command } from '../side.js'

/** Peers of the throughput bench. */
export const PEERS = ['pytorch', 'jax', 'tfjs'] as const
export type PeerName = (typeof PEERS)[number]

/** One way in which a peer can train a case with its cores. */
export interface Way {
  readonly peer: PeerName
  /** Its version and settings, as results name it. */
  readonly name: string
  /** Processes that work at the same time and whose rates are added. */
  readonly commands: readonly Command[]
}

/** Numbers of processes and of threads in each that use as many cores as there are learners, or one. */
export interface Spread {
  readonly processes: number
  readonly threads: number
  readonly name: string
}

/** One thread, all cores in one process, and a process a core: at small batches the last is mostly the fastest. */
export function spreads(cores: number): readonly Spread[] {
  return [
    { processes: 1, threads: 1, name: '1 thread' },
    ...(cores > 1
      ? [
          { processes: 1, threads: cores, name: `${cores} threads` },
          { processes: cores, threads: 1, name: `${cores} processes` }
        ]
      : [])
  ]
}

/** The arguments that every peer's program takes. */
export function taskArguments(settings: Readonly<Record<string, string | number | readonly number[]>>): readonly string[] {
  return Object.entries(settings).flatMap(([key, value]) => [
    `--${key}`,
    ...(typeof value === 'object' ? value.map(String) : [String(value)])
  ])
}
