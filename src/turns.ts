import { eventLoopTurn } from './node.js'

/** Work in pieces: it yields after each, so that its thread may do something else in between. */
export type Pieces<Result> = Generator<void, Result, void>

/** Does all of it at once. */
export function atOnce<Result>(work: Pieces<Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** `work` for each of the items, one a piece. */
export function* mapInPieces<Item, Result>(items: readonly Item[], work: (item: Item) => Result): Pieces<Result[]> {
  const results: Result[] = []
  for (const item of items) {
    results.push(work(item))
    yield
  }
  return results
}

/** Milliseconds of work between two turns of the event loop. */
const SLICE = 20

export interface TurnsOptions {
  /** Milliseconds of work between two turns, rounded up to a piece; 20 if omitted. */
  readonly slice?: number
  /** Called after each turn. If it throws, the work is given up. */
  readonly check?: () => void
}

/** Does it in turns with the event loop: timers, signals and messages wait for no longer than a slice and a piece. */
export async function inTurns<Result>(work: Pieces<Result>, { slice = SLICE, check }: TurnsOptions = {}): Promise<Result> {
  let since = performance.now()
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    if (performance.now() - since < slice) continue
    await eventLoopTurn()
    check?.()
    since = performance.now()
  }
}
