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
}

export interface Bench {
  /** One line for the help text. */
  readonly summary: string
  /** What may follow its name, a line each. */
  readonly filters: readonly string[]
  run(filters: readonly string[], options: BenchOptions): Promise<void>
}
