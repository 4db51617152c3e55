/** What a family of the zoo is built for. */
export interface ZooShape {
  /** One sample's shape: (C, H, W) or (F). */
  readonly input: readonly number[]
  readonly classes: number
}
