/** What a family of the zoo is built for. */
export interface ZooShape {
  /** One sample's shape: (C, H, W), (F), or (T) tokens. */
  readonly input: readonly number[]
  /** Of each sample, or of each token. */
  readonly classes: number
}
