import { ArbalestError } from '../errors.js'
import type { RateCourse } from './course.js'
import type { Progress, Duration } from './span.js'

/** Rates of iterations from `from` on, one each; the last one holds until the next piece begins, or for ever. */
export interface LearningRatePiece {
  readonly from: number
  readonly rates: Float32Array
}

/** A run as a schedule sees it. */
export interface RunClock {
  readonly iterations: number
  /** At the start of an iteration. */
  readonly progress: (iteration: number) => Progress
  /** The first iteration of the first round that begins when so much has gone by. */
  readonly roundAfter: (span: Duration) => number
}

/** A rate that a float has no room for is as good as none. */
const LEAST = 1e-38

/** Each begins a piece of its own, and rates that fall more often are meant to fall smoothly. */
const MOST_DROPS = 2 ** 16

/** How many iterations, from the first on, have each a rate of their own. */
export function varyingIterations({ varies }: RateCourse, { iterations, roundAfter }: RunClock): number {
  return varies === 'always' ? iterations : Math.min(iterations, Math.max(0, ...varies.map(roundAfter)))
}

/**
 * A course's rates: one an iteration where it varies, one for all where it does not. `drops` are the iterations, each a round's first, at which
 * the rate falls. Throws INVALID_OPTION for more drops than can be kept.
 */
export function ratePieces(course: RateCourse, run: RunClock): { pieces: LearningRatePiece[]; drops: number[] } {
  const { smooth, decay } = course
  const falls = fallsOf(course, run)
  const steady = varyingIterations(course, run)
  const pieces = [0, ...falls].flatMap((from, fallen, starts) => {
    const rateOf = (iteration: number): number => smooth(run.progress(iteration)) * decay ** fallen
    const until = Math.min(steady, starts[fallen + 1] ?? run.iterations)
    const varying = Math.max(0, until - from)
    // One more than those that vary: the rate that holds from there on.
    const piece = (): LearningRatePiece => ({ from, rates: Float32Array.from({ length: varying + 1 }, (_, i) => rateOf(from + i)) })
    return starts[fallen + 1] === from ? [] : [piece()]
  })
  return { pieces, drops: [...new Set(falls)] }
}

/** The iterations at which the rate is multiplied by `decay`, once for each time that they are listed. */
function fallsOf({ smooth, drops, decay }: RateCourse, run: RunClock): number[] {
  const falls: number[] = []
  if (decay === 1) return falls
  const first = smooth(run.progress(0)) || 1
  for (const span of drops) {
    const at = run.roundAfter(span)
    if (at >= run.iterations || first * decay ** falls.length < LEAST) break
    if (falls.length === MOST_DROPS)
      throw new ArbalestError(
        'INVALID_OPTION',
        `optimiser.learningRate: received a schedule of more than ${MOST_DROPS} drops; use a longer span, or exponential, which falls smoothly`,
        { data: { parameter: 'optimiser.learningRate', most: MOST_DROPS } }
      )
    falls.push(at)
  }
  return falls
}

/** The rate of one iteration. */
export function rateAt(pieces: readonly LearningRatePiece[], iteration: number): number {
  const { from, rates } = pieces.findLast((piece) => piece.from <= iteration)!
  return rates[Math.min(iteration - from, rates.length - 1)]!
}
