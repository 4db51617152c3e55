import { median, spread, type Spread } from './statistics.js'

/** A process, such as a Side, that runs for a window and resolves with its rate. */
export interface Contestant {
  run(seconds: number): Promise<number>
}

export interface Comparison extends Spread {
  /** Medians of each side's rates. */
  readonly value: number
  readonly peerValue: number
  /** Median of the ratios of the pairs; above 1 if our side is faster. `min`, `max` and `quartiles` are those of these ratios. */
  readonly ratio: number
  readonly n: number
}

/**
 * Runs both sides in turns, A B A B, and compares each window with its neighbour: if the machine's speed drifts, both change. `between` runs after each
 * pair, while both sides are stopped.
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
  return comparison(values, peerValues)
}

/** Of windows that alternated: each of ours is compared with the peer's that followed it. */
export function comparison(values: readonly number[], peerValues: readonly number[]): Comparison {
  const ratios = values.map((value, pair) => value / peerValues[pair]!)
  return { value: median(values), peerValue: median(peerValues), ratio: median(ratios), n: ratios.length, ...spread(ratios) }
}
