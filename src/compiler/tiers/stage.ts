import type { ValueId } from '../../model/graph.js'
import type { Pieces } from '../../turns.js'
import { candidatesAtPeak, type Candidate } from './candidates.js'
import { restore, type RepeatableStep, type Restorations, type Ways } from './restore.js'
import { simulate, withTime, type MeasuredStep, type StepTimeline } from './simulate.js'

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

/** The predictions of no more candidates are checked once one of them lowers the peak. */
const MOST_CANDIDATES = 24

/**
 * The search ends after so many simulated operators, with what it has found: on a few thousand layers it would take minutes. A number of operators and not a
 * time, so that every machine chooses alike. Networks of some hundred layers take a fraction of it.
 */
const MOST_SIMULATED = 6_000_000

interface Choice {
  readonly choices: ChangedChoices
  readonly timeline: StepTimeline
}

/**
 * Chooses the values of a step that are computed again, or moved to the second tier, instead of being held. At the operator that holds most, one choice
 * after the other: the one that costs least simulated time for each byte that it frees. A lower budget goes on from a higher one.
 */
export class Staging {
  readonly #step: RepeatableStep
  readonly #measured: MeasuredStep
  readonly #freed: FreedBytes
  readonly #ways: Ways
  #choices = new ChangedChoices()
  #timeline: StepTimeline
  #operators = 0

  constructor(step: RepeatableStep, measured: MeasuredStep, freed: FreedBytes, ways: Ways = { recompute: true, move: false }) {
    this.#step = step
    this.#measured = measured
    this.#freed = freed
    this.#ways = ways
    this.#timeline = this.#simulated(this.#choices).tight
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
      this.#choices = best.choices
      this.#timeline = best.timeline
    }
    return true
  }

  /** Without the choices that later ones have made needless: still at most `budget` bytes. */
  *trimmed(budget: number): Pieces<StepTimeline> {
    const kept = this.#choices.with([], [])
    const simulated = (): StepTimeline => {
      const { tight, unhurried } = this.#simulated(kept, budget)
      return tight.peak <= budget ? unhurried : tight
    }
    let timeline = simulated()
    for (const values of [...kept.drops.values()].toReversed())
      for (const value of [...values].toReversed()) {
        values.delete(value)
        const without = simulated()
        if (without.peak <= budget && without.seconds <= timeline.seconds) timeline = without
        else values.add(value)
        yield
      }
    return timeline
  }

  /** The candidate that lowers the peak at the least cost; undefined if none lowers it. */
  *#best(): Pieces<Choice | undefined> {
    const before = this.#timeline
    let best: (Choice & Pick<Candidate, 'secondsPerByte'>) | undefined
    let simulated = 0
    for (const candidate of yield* candidatesAtPeak(this.#step, this.#measured, before, this.#choices, this.#ways)) {
      if (best && simulated >= LEAST_SIMULATED && candidate.secondsPerByte >= best.secondsPerByte) break
      if (best && simulated >= MOST_CANDIDATES) break
      const choices = this.#choices.with(candidate.drops, candidate.moved)
      // Transfers have time as far as that makes no new peak.
      const { tight, unhurried } = this.#simulated(choices, before.peak - 1)
      const timeline = { ...tight, seconds: unhurried.seconds }
      simulated++
      yield
      const lower = timeline.peak < before.peak || (timeline.peak === before.peak && timeline.slotsAtPeak < before.slotsAtPeak)
      const freed = this.#freed(before, timeline)
      if (!lower || freed <= 0) continue
      const secondsPerByte = (timeline.seconds - before.seconds) / freed
      if (!best || secondsPerByte < best.secondsPerByte) best = { choices, secondsPerByte, timeline }
    }
    return best
  }

  #simulated(choices: Restorations, limit = 0): { readonly tight: StepTimeline; readonly unhurried: StepTimeline } {
    const step = restore(this.#step, choices)
    this.#operators += step.operators.length
    const tight = simulate(step, this.#measured)
    return { tight, unhurried: withTime(step, tight, this.#measured, limit) }
  }
}

/** The most bytes that are held at each original operator, or before it where operators run again. */
function heldBySlot({ step, live }: StepTimeline): number[] {
  const held: number[] = []
  for (const [at, { slot }] of step.operators.entries()) held[slot] = Math.max(held[slot] ?? 0, live[at]!)
  return held
}

/** Choices, and those with more. */
class ChangedChoices implements Restorations {
  readonly drops: ReadonlyMap<number, Set<ValueId>>
  readonly moved: ReadonlySet<ValueId>

  constructor(drops: ReadonlyMap<number, Set<ValueId>> = new Map(), moved: ReadonlySet<ValueId> = new Set()) {
    this.drops = drops
    this.moved = moved
  }

  with(drops: Candidate['drops'], moved: readonly ValueId[]): ChangedChoices {
    const all = new Map([...this.drops].map(([after, values]) => [after, new Set(values)]))
    for (const [value, after] of drops) {
      const values = all.get(after)
      if (values) values.add(value)
      else all.set(after, new Set([value]))
    }
    return new ChangedChoices(all, moved.length > 0 ? new Set([...this.moved, ...moved]) : this.moved)
  }
}
