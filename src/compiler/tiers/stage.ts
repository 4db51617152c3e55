import type { ValueId } from '../../model/graph.js'
import type { Pieces } from '../../turns.js'
import { candidatesAtPeak, type Candidate } from './candidates.js'
import { recompute, type Drops, type RepeatableStep } from './recompute.js'
import { simulate, type MeasuredStep, type StepTimeline } from './simulate.js'

/** How many bytes a choice frees, for its price to be compared with others'. */
export type FreedBytes = (before: StepTimeline, after: StepTimeline) => number

const freedAtPeak: FreedBytes = (before, after) => {
  const slot = before.step.operators[before.live.indexOf(before.peak)]!.slot
  return before.peak - heldBySlot(after)[slot]!
}

/** Operators that hold almost as much as the peak count almost as much: they are next. */
const freedNearPeak: FreedBytes = (before, after) => {
  const weighted = (timeline: StepTimeline): number =>
    heldBySlot(timeline).reduce((sum, bytes) => sum + before.peak * (bytes / before.peak) ** 8, 0)
  return weighted(before) - weighted(after)
}

/** Neither is always the better one: their finished timelines are compared. */
export const FREED: readonly FreedBytes[] = [freedAtPeak, freedNearPeak]

/** The predictions of at least so many candidates are checked by simulation. */
const LEAST_SIMULATED = 2

/**
 * The search ends after so many simulated operators, with what it has found: on a few thousand layers it would take minutes. A number of operators and not a
 * time, so that every machine chooses alike. Networks of some hundred layers take a fraction of it.
 */
const MOST_SIMULATED = 6_000_000

interface Choice extends Candidate {
  readonly timeline: StepTimeline
}

/**
 * Chooses the values of a step that are computed again instead of being held. At the operator that holds most, one choice after the other: the one that
 * costs least simulated time for each byte that it frees. A lower budget goes on from a higher one.
 */
export class Staging {
  readonly #step: RepeatableStep
  readonly #measured: MeasuredStep
  readonly #freed: FreedBytes
  readonly #drops = new Map<number, Set<ValueId>>()
  #timeline: StepTimeline
  #operators = 0

  constructor(step: RepeatableStep, measured: MeasuredStep, freed: FreedBytes) {
    this.#step = step
    this.#measured = measured
    this.#freed = freed
    this.#timeline = this.#simulated(this.#drops)
  }

  /** Of what is chosen so far. */
  get timeline(): StepTimeline {
    return this.#timeline
  }

  /** Lets the step hold at most `budget` bytes at a time. False if it cannot; then it holds as little as was found. */
  *reach(budget: number): Pieces<boolean> {
    while (this.#timeline.peak > budget) {
      if (this.#operators > MOST_SIMULATED) return false
      const best = yield* this.#best()
      if (!best) return false
      for (const [value, after] of best.drops) add(this.#drops, value, after)
      this.#timeline = best.timeline
    }
    return true
  }

  /** Without the choices that later ones have made needless: still at most `budget` bytes. */
  *trimmed(budget: number): Pieces<StepTimeline> {
    const kept = copyOf(this.#drops)
    let timeline = this.#timeline
    for (const values of [...kept.values()].toReversed())
      for (const value of [...values].toReversed()) {
        values.delete(value)
        const without = this.#simulated(kept)
        if (without.peak <= budget && without.seconds <= timeline.seconds) timeline = without
        else values.add(value)
        yield
      }
    return timeline
  }

  /** The candidate that lowers the peak at the least cost; undefined if none lowers it. */
  *#best(): Pieces<Choice | undefined> {
    const before = this.#timeline
    let best: Choice | undefined
    let simulated = 0
    for (const candidate of yield* candidatesAtPeak(this.#step, this.#measured, before, this.#drops)) {
      if (best && simulated >= LEAST_SIMULATED && candidate.secondsPerByte >= best.secondsPerByte) break
      const drops = copyOf(this.#drops)
      for (const [value, after] of candidate.drops) add(drops, value, after)
      const timeline = this.#simulated(drops)
      simulated++
      yield
      const lower = timeline.peak < before.peak || (timeline.peak === before.peak && timeline.slotsAtPeak < before.slotsAtPeak)
      const freed = this.#freed(before, timeline)
      if (!lower || freed <= 0) continue
      const secondsPerByte = (timeline.seconds - before.seconds) / freed
      if (!best || secondsPerByte < best.secondsPerByte) best = { drops: candidate.drops, secondsPerByte, timeline }
    }
    return best
  }

  #simulated(drops: Drops): StepTimeline {
    const step = recompute(this.#step, drops)
    this.#operators += step.operators.length
    return simulate(step, this.#measured)
  }
}

/** The most bytes that are held at each original operator, or before it where operators run again. */
function heldBySlot({ step, live }: StepTimeline): number[] {
  const held: number[] = []
  for (const [at, { slot }] of step.operators.entries()) held[slot] = Math.max(held[slot] ?? 0, live[at]!)
  return held
}

function add(drops: Map<number, Set<ValueId>>, value: ValueId, after: number): void {
  const values = drops.get(after)
  if (values) values.add(value)
  else drops.set(after, new Set([value]))
}

function copyOf(drops: Drops): Map<number, Set<ValueId>> {
  return new Map([...drops].map(([after, values]) => [after, new Set(values)]))
}
