/** Rates of iterations from `from` on, one each; the last one holds until the next piece begins, or for ever. */
export interface RatePiece {
  readonly from: number
  readonly rates: Float32Array
}

/** Constant between milestones, multiplied by `decay` at each. */
export interface MultistepRates {
  readonly rate: number
  readonly decay: number
  /** Iterations at which the rate drops, rising. */
  readonly milestones: readonly number[]
}

export function multistep({ rate, decay, milestones }: MultistepRates): RatePiece[] {
  return [0, ...milestones].map((from, drops) => ({ from, rates: Float32Array.of(rate * decay ** drops) }))
}

/** The rate of one iteration. */
export function rateAt(pieces: readonly RatePiece[], iteration: number): number {
  const { from, rates } = pieces.findLast((piece) => piece.from <= iteration)!
  return rates[Math.min(iteration - from, rates.length - 1)]!
}
