import type { LearningRatePiece } from './pieces.js'

/** From this iteration on so many learners train. */
export interface Sharing {
  readonly from: number
  readonly learners: number
}

/** The same rates divided by the learners that train at each iteration, for rules that add up what all of them do. `sharing` rises from iteration 0. */
export function sharedRates(pieces: readonly LearningRatePiece[], sharing: readonly Sharing[]): LearningRatePiece[] {
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
