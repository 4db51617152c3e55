import { invalidOption } from './errors.js'

/** The options of the benches. */
export interface BenchOptions {
  readonly json: boolean
  readonly profile: boolean
  /** Pairs of windows that are measured for each case. */
  readonly pairs: number
  /** Length of one window. */
  readonly seconds: number
  /** The name of the file of results. */
  readonly save?: string
  /** Minutes that this start of a resumable bench may take. */
  readonly budget?: number
  /** The folder of a resumable bench's results. */
  readonly out?: string
  /** Peers to compare with, separated by commas, or `all`. */
  readonly peers?: string
  /** Only the ways of a peer of which the names have this text. */
  readonly ways?: string
  /** Measures the times again, in a bench that takes them apart from its runs. */
  readonly pace?: boolean
}

/** An option that some benches take; `json` is of all. */
export type BenchOption = Exclude<keyof BenchOptions, 'json'>

export interface Bench {
  /** One line for the help text. */
  readonly summary: string
  /** Lines of help about the words that may follow its name. */
  readonly filters: readonly string[]
  /** The options that it reads; others are refused. */
  readonly takes: readonly BenchOption[]
  run(filters: readonly string[], options: BenchOptions): Promise<void>
}

/** Whether `--peers none` leaves the peer out, in a bench that has one peer. Throws INVALID_OPTION for anything else. */
export function isWithoutPeer({ peers }: BenchOptions): boolean {
  if (peers !== undefined && peers !== 'none')
    throw invalidOption('--peers', peers, 'give none, which leaves the peer out, or leave the option out')
  return peers === 'none'
}
