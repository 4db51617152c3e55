/** The result of one check of this machine by `arbalest doctor`. */
export interface Check {
  readonly name: string
  /** `missing`: training cannot run without it. `absent`: training can run without it. */
  readonly status: 'present' | 'absent' | 'missing'
  /** The version or size that was found, or why there is none. */
  readonly detail: string
  /** What to do about it. */
  readonly fix?: string
}
