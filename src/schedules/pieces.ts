import { invalidOption } from '../errors.js'
import type { Curve } from './curves.js'
import type { Duration, Progress } from './duration.js'

/** Learning rates of the iterations from `from` on, one each; the last one holds until the next piece begins, or to the end. */
export interface LearningRatePiece {
  readonly from: number
  readonly rates: Float32Array
}

/** A run as a schedule sees it. */
export interface RunClock {
  readonly iterations: number
  /** At the start of an iteration. */
  readonly progress: (iteration: number) => Progress
  /** The first iteration of the first round that begins when the duration has passed. */
  readonly iterationAfter: (duration: Duration) => number
}

/** A smaller learning rate is zero in a float. */
const LEAST = 1e-38

/** Each drop begins a piece. */
const MOST_DROPS = 2 ** 16

/** The number of iterations, from the first on, that have a learning rate of their own each. */
export function varyingIterations({ varies }: Curve, { iterations, iterationAfter }: RunClock): number {
  return varies === 'always' ? iterations : Math.min(iterations, Math.max(0, ...varies.map(iterationAfter)))
}

/**
 * The learning rates of a curve: one for each iteration while it varies, then one for all. `drops` are the iterations, each the first of a round,
 * at which the learning rate drops. Throws INVALID_OPTION for more drops than can be kept.
 */
export function learningRatePieces(curve: Curve, run: RunClock): { pieces: LearningRatePiece[]; drops: number[] } {
  const { smooth, gamma } = curve
  const drops = dropsOf(curve, run)
  const varying = varyingIterations(curve, run)
  const pieces = [0, ...drops].flatMap((from, dropped, starts) => {
    const next = starts[dropped + 1]
    if (next === from) return []
    const rateOf = (iteration: number): number => smooth(run.progress(iteration)) * gamma ** dropped
    const length = Math.max(0, Math.min(varying, next ?? run.iterations) - from)
    // One more than those that vary: the learning rate that holds afterwards.
    return [{ from, rates: Float32Array.from({ length: length + 1 }, (_, i) => rateOf(from + i)) }]
  })
  return { pieces, drops: [...new Set(drops)] }
}

/** The iterations at which the learning rate is multiplied by `gamma`, once for each multiplication. */
function dropsOf({ smooth, drops, gamma }: Curve, run: RunClock): number[] {
  const found: number[] = []
  if (gamma === 1) return found
  // Without the drops, and warmed up: a warm-up may begin at 0, or near it.
  const rate = smooth(run.progress(run.iterations))
  for (const duration of drops) {
    const at = run.iterationAfter(duration)
    if (at >= run.iterations || rate * gamma ** found.length < LEAST) break
    if (found.length === MOST_DROPS)
      throw invalidOption(
        'optimiser.learningRate',
        `a schedule of more than ${MOST_DROPS} drops`,
        'use a longer period, or exponential, which falls smoothly'
      )
    found.push(at)
  }
  return found
}

export function learningRateAt(pieces: readonly LearningRatePiece[], iteration: number): number {
  const { from, rates } = pieces.findLast((piece) => piece.from <= iteration)!
  return rates[Math.min(iteration - from, rates.length - 1)]!
}

/** The number of learners from an iteration on. */
export interface LearnersFrom {
  readonly from: number
  readonly learners: number
}

/** The learning rates divided by the learners that train at each iteration, for rules that add up the learners' updates. `sharing` rises from 0. */
export function sharedLearningRates(pieces: readonly LearningRatePiece[], sharing: readonly LearnersFrom[]): LearningRatePiece[] {
  const starts = [...new Set([...pieces, ...sharing].map(({ from }) => from))].sort((a, b) => a - b)
  return starts.map((from, i) => {
    const piece = pieces.findLast((each) => each.from <= from)!
    const { learners } = sharing.findLast((each) => each.from <= from)!
    // The last rate of a piece holds.
    const first = Math.min(from - piece.from, piece.rates.length - 1)
    const until = Math.max(first + 1, (starts[i + 1] ?? Infinity) - piece.from)
    return { from, rates: piece.rates.slice(first, until).map((rate) => rate / learners) }
  })
}
