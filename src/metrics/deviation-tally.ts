import { ExactSum } from './exact-sum.js'

/** Exact sums of one output over its samples, each as parts: of |y - p|, (y - p)^2, y - pivot and (y - pivot)^2. */
type OutputSums = readonly [
  absolute: readonly number[],
  squared: readonly number[],
  target: readonly number[],
  targetSquared: readonly number[]
]

export interface DeviationSums {
  readonly samples: number
  readonly outputs: readonly OutputSums[]
}

/** Sums the deviations of predictions p from targets y. */
export class DeviationTally {
  readonly #pivots: readonly number[]
  readonly #sums: readonly (readonly [ExactSum, ExactSum, ExactSum, ExactSum])[]
  #samples = 0

  /** Targets are summed less their pivot, about their mean: their spread would be lost beside a large mean. */
  constructor(pivots: readonly number[]) {
    this.#pivots = pivots
    this.#sums = pivots.map(() => [new ExactSum(), new ExactSum(), new ExactSum(), new ExactSum()])
  }

  static joined(pivots: readonly number[], states: readonly DeviationSums[]): DeviationTally {
    const tally = new DeviationTally(pivots)
    for (const { samples, outputs } of states) {
      tally.#samples += samples
      for (const [i, sums] of outputs.entries())
        for (const [j, parts] of sums.entries()) for (const part of parts) tally.#sums[i]![j]!.add(part)
    }
    return tally
  }

  get counts(): DeviationSums {
    const outputs = this.#sums.map((sums) => sums.map(({ parts }) => parts) as unknown as OutputSums)
    return { samples: this.#samples, outputs }
  }

  add(output: ArrayLike<number>, target: ArrayLike<number>): void {
    const size = this.#pivots.length
    for (let i = 0; i < target.length; i++) {
      const [absolute, squared, targets, targetsSquared] = this.#sums[i % size]!
      const deviation = target[i]! - output[i]!
      const centred = target[i]! - this.#pivots[i % size]!
      absolute.add(Math.abs(deviation))
      squared.add(deviation * deviation)
      targets.add(centred)
      targetsSquared.add(centred * centred)
    }
    this.#samples += target.length / size
  }

  /** `unit`: what the targets were divided by. */
  metrics(unit = 1): { readonly r2: number; readonly mae: number; readonly rmse: number } {
    const samples = this.#samples
    return {
      r2: mean(
        this.#sums.map(([, squared, targets, targetsSquared]) => {
          const spread = targetsSquared.value - targets.value ** 2 / samples
          if (spread > 0) return 1 - squared.value / spread
          return squared.value === 0 ? 1 : 0
        })
      ),
      mae: unit * mean(this.#sums.map(([absolute]) => absolute.value / samples)),
      rmse: unit * mean(this.#sums.map(([, squared]) => Math.sqrt(squared.value / samples)))
    }
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The mean of the targets (n, outputs) of each output, for `DeviationTally`. */
export function targetMeans(targets: Float32Array, outputs: number): number[] {
  const sums = new Float64Array(outputs)
  targets.forEach((value, i) => (sums[i % outputs]! += value))
  // As a float32 it is exactly the target where all targets are equal.
  return Array.from(sums, (sum) => Math.fround(sum / (targets.length / outputs)))
}
