/** Constant between milestones, multiplied by `decay` at each; plain data, one rate an iteration. */
export interface MultistepRates {
  readonly rate: number
  readonly decay: number
  /** Iterations at which the rate drops, rising. */
  readonly milestones: readonly number[]
}

/** The rate of each iteration up to the last milestone, whose rate holds for ever. Iterations that no run reaches are left out. */
export function multistep({ rate, decay, milestones }: MultistepRates, iterations: number): Float32Array {
  const reached = milestones.filter((milestone) => milestone < iterations)
  const rates = new Float32Array((reached.at(-1) ?? 0) + 1)
  let from = 0
  for (const [drops, until] of [...reached, rates.length].entries()) {
    rates.fill(rate * decay ** drops, from, until)
    from = until
  }
  return rates
}
