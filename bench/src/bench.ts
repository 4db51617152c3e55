/** What every bench takes. */
export interface BenchOptions {
  readonly json: boolean
  readonly profile: boolean
  /** Measured pairs of windows of each case. */
  readonly pairs: number
  /** Length of one window. */
  readonly seconds: number
  /** Name under which the results are kept. */
  readonly save?: string
  /** Minutes that a resumable bench may take now. */
  readonly budget?: number
  /** The folder of a resumable bench's results. */
  readonly out?: string
  /** Of a bench whose runs are not timed: what is timed is measured again. */
  readonly pace?: boolean
}

export interface Bench {
  /** One line for the help text. */
  readonly summary: string
  /** What may follow its name, a line each. */
  readonly filters: readonly string[]
  run(filters: readonly string[], options: BenchOptions): Promise<void>
}
