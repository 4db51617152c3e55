/**
 * The exact sum of doubles, as parts that do not overlap: it does not depend on the order of the numbers, nor on how they were divided among several sums
 * (Shewchuk, "Adaptive Precision Floating-Point Arithmetic", Discrete & Computational Geometry 18, 1997).
 */
export class ExactSum {
  /** By rising magnitude. */
  readonly #parts: number[] = []
  /** The sum of infinities and NaN, which have no exact parts. */
  #others = 0

  constructor(parts: readonly number[] = []) {
    for (const part of parts) this.add(part)
  }

  add(number: number): void {
    if (!Number.isFinite(number)) {
      this.#others += number
      return
    }
    let x = number
    let kept = 0
    for (const part of this.#parts) {
      const sum = x + part
      const [large, small] = Math.abs(x) < Math.abs(part) ? [part, x] : [x, part]
      const error = small - (sum - large)
      if (error !== 0) this.#parts[kept++] = error
      x = sum
    }
    this.#parts[kept] = x
    this.#parts.length = kept + 1
  }

  /** Numbers with the same exact sum, to be posted to another thread. */
  get parts(): readonly number[] {
    return this.#others === 0 ? [...this.#parts] : [this.#others]
  }

  /** The sum, rounded to the nearest number, ties to even. The order in which the numbers were added makes no difference. */
  get value(): number {
    let left = this.#parts.length
    let sum = 0
    let error = 0
    while (left > 0 && error === 0) {
      const part = this.#parts[--left]!
      const next = sum + part
      error = part - (next - sum)
      sum = next
    }
    // A tie was rounded to even, but smaller parts are left on the other side of it: the other neighbour is nearer.
    if (left > 0 && Math.sign(error) === Math.sign(this.#parts[left - 1]!)) {
      const other = sum + 2 * error
      if (other - sum === 2 * error) sum = other
    }
    return sum + this.#others
  }
}
