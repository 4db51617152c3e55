import { median, spread, type Spread } from './statistics.js'

/** Whatever can be run for a window and tells its rate: a Side. */
export interface Contestant {
  run(seconds: number): Promise<number>
}

export interface Comparison extends Spread {
  /** Medians of each side's rates. */
  readonly value: number
  readonly peerValue: number
  /** Median of the paired ratios; above 1 means that our side is faster. `min`, `max` and `quartiles` are theirs too. */
  readonly ratio: number
  readonly n: number
}

/**
 * Runs both sides in turns, A B A B, and compares each window with its neighbour: a machine whose speed drifts then moves both. `between` runs
 * after each pair, while both sides are stopped.
 */
export async function compare(
  ours: Contestant,
  peer: Contestant,
  options: { pairs: number; seconds: number; between?: (pair: number) => Promise<void> }
): Promise<Comparison> {
  const values: number[] = []
  const peerValues: number[] = []
  for (let pair = 0; pair < options.pairs; pair++) {
    values.push(await ours.run(options.seconds))
    peerValues.push(await peer.run(options.seconds))
    await options.between?.(pair)
  }
  const ratios = values.map((value, pair) => value / peerValues[pair]!)
  return { value: median(values), peerValue: median(peerValues), ratio: median(ratios), n: ratios.length, ...spread(ratios) }
}
