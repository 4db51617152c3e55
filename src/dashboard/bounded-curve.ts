import type { CurvePoint, CurveUpdate } from './page/wire.js'

/** How a column of several points becomes one number. */
export type Merge = 'mean' | 'last' | 'most'

/** The most points that a curve holds. */
export const MOST_POINTS = 1024

/**
 * A curve of any length in bounded memory: whenever it has 1024 points, each two neighbours are merged into one, and later points are merged in groups of the same size.
 * Each column is merged in its own way: to the mean of its numbers, to the last, or to the greatest.
 */
export class BoundedCurve {
  readonly #merges: readonly Merge[]
  readonly #points: (number | null)[][] = []
  /** How many given points make one, and how many of these the last one has so far. */
  #stride = 1
  #inLast = 0
  /** Numbers in each column of the last point, for its means. */
  #counts: number[] = []
  /** The first point that has changed since `takeChanges`. */
  #changed = 0

  constructor(merges: readonly Merge[]) {
    this.#merges = merges
  }

  get length(): number {
    return this.#points.length
  }

  push(point: CurvePoint): void {
    if (this.#inLast === this.#stride || this.#points.length === 0) {
      if (this.#points.length === MOST_POINTS) this.#halve()
      this.#inLast = 0
    }
    if (this.#inLast++ === 0) {
      this.#points.push(point.map(finite))
      this.#counts = this.#points.at(-1)!.map((value) => (value === null ? 0 : 1))
    } else this.#add(point)
    this.#changed = Math.min(this.#changed, this.#points.length - 1)
  }

  /** Everything. */
  whole(): CurveUpdate {
    return { from: 0, points: this.#points }
  }

  /** What has changed since the last call; undefined if nothing has. */
  takeChanges(): CurveUpdate | undefined {
    const from = this.#changed
    this.#changed = this.#points.length
    return from < this.#points.length ? { from, points: this.#points.slice(from) } : undefined
  }

  #add(point: CurvePoint): void {
    const into = this.#points.at(-1)!
    for (const [column, merge] of this.#merges.entries()) {
      const value = finite(point[column] ?? null)
      if (value === null) continue
      const before = into[column] ?? null
      const count = ++this.#counts[column]!
      into[column] = before === null ? value : merged(merge, before, value, 1 / count)
    }
  }

  #halve(): void {
    for (let i = 0; i < MOST_POINTS / 2; i++) {
      const [first, second] = [this.#points[2 * i]!, this.#points[2 * i + 1]!]
      this.#points[i] = this.#merges.map((merge, column) => {
        const [a, b] = [first[column]!, second[column]!]
        return a === null || b === null ? (a ?? b) : merged(merge, a, b, 1 / 2)
      })
    }
    this.#points.length = MOST_POINTS / 2
    this.#stride *= 2
    this.#changed = 0
  }
}

function merged(merge: Merge, before: number, value: number, weight: number): number {
  if (merge === 'last') return value
  return merge === 'most' ? Math.max(before, value) : before + weight * (value - before)
}

/** JSON has no NaN and no infinite numbers. */
function finite(value: number | null): number | null {
  return value !== null && Number.isFinite(value) ? value : null
}
