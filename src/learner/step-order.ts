import type { SegmentName } from '../compiler/program.js'
import { ArbalestError } from '../errors.js'

/**
 * Checks the order in which a learner runs the segments of its training step. A step without one of them would be counted and would train
 * nothing.
 */
export class StepOrder {
  readonly #done = new Set<SegmentName>()
  #vectorSet = false

  /** The learner has set its weights or gradients itself: the step needs no forward and no backward. */
  vectorWasSet(): void {
    this.#vectorSet = true
  }

  /** Throws INVALID_STATE if a segment is missing that must come before `next`. */
  check(next: SegmentName): void {
    const missing = this.#missingBefore(next)
    if (missing === undefined) return
    const message = `${next}: the step has had no ${missing}; await ${missing}() before ${next}()`
    throw new ArbalestError('INVALID_STATE', message, { data: { segment: next, missing } })
  }

  done(segment: SegmentName): void {
    if (segment === 'update') this.reset()
    else this.#done.add(segment)
    // A further batch of the step needs a forward of its own.
    if (segment === 'load') this.#done.delete('forward')
  }

  /** The step is over, or was interrupted. */
  reset(): void {
    this.#done.clear()
    this.#vectorSet = false
  }

  #missingBefore(next: SegmentName): SegmentName | undefined {
    if (next === 'load' || next === 'forward') return undefined
    const hasGradients = this.#vectorSet || (next !== 'backward' && this.#done.has('backward'))
    if (!hasGradients && !this.#done.has('forward')) return 'forward'
    if (!hasGradients && next !== 'backward') return 'backward'
    return next === 'update' && !this.#done.has('exchange') ? 'exchange' : undefined
  }
}
