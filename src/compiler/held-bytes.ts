import { aligned } from './pack.js'
import { SEGMENTS, type Program, type SegmentName } from './program.js'
import { isTransfer } from './tiers/cost.js'

/** What a step holds in its arena of activations while an operator runs. */
export interface HeldBytes {
  readonly segment: SegmentName
  readonly operator: string
  /** Values that share their memory count once; scratch is included. */
  readonly bytes: number
  /** The operator computes again what was not held, or moves it. */
  readonly repeats: boolean
}

/** For each operator of a step, in the order in which they run. */
export function heldBytes({ segments, values }: Program): HeldBytes[] {
  const operators = SEGMENTS.flatMap((segment) => segments[segment].map((operator) => ({ segment, ...operator })))
  const spans = operators.map(({ scratch }): Span[] =>
    scratch.bytes > 0 ? [{ from: scratch.offset, until: scratch.offset + scratch.bytes }] : []
  )
  for (const { bytes, placement } of values) {
    if (placement.arena !== 'activations') continue
    for (let at = placement.from; at <= Math.min(placement.until, spans.length - 1); at++)
      spans[at]!.push({ from: placement.offset, until: placement.offset + bytes })
  }
  return operators.map(({ segment, kind, name, repeats = false }, at) => ({
    segment,
    operator: name,
    bytes: covered(spans[at]!),
    repeats: repeats || isTransfer(kind)
  }))
}

/** Bytes of an arena. */
interface Span {
  readonly from: number
  readonly until: number
}

/** Bytes that lie in any of the spans; each begins at a multiple of the alignment. */
function covered(spans: Span[]): number {
  let [bytes, end] = [0, 0]
  for (const { from, until } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = aligned(until)
    bytes += Math.max(0, last - Math.max(end, from))
    end = Math.max(end, last)
  }
  return bytes
}
