/** One thing that was looked at. */
export interface Finding {
  readonly name: string
  /** `missing`: training cannot run without it. `absent`: it can. */
  readonly status: 'present' | 'absent' | 'missing'
  /** What was found, or why there is none. */
  readonly detail: string
  /** What to do about it. */
  readonly mend?: string
}
