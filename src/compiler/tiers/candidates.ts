import type { ValueId } from '../../model/graph.js'
import type { Pieces } from '../../turns.js'
import { present } from '../step.js'
import type { RepeatableStep, Restorations, Ways } from './restore.js'
import type { MeasuredStep, StepTimeline } from './simulate.js'

/** Values that need not be held across the peak, and what that seems to cost. */
export interface Candidate {
  /** Each with the number of the original operator after which it is dropped. */
  readonly drops: readonly (readonly [value: ValueId, after: number])[]
  /** Those that are moved to the second tier. */
  readonly moved: readonly ValueId[]
  /** Predicted, for each byte that it frees at the peak. */
  readonly secondsPerByte: number
}

/** Values smaller than this part of the largest one that is live do not lower the peak. */
const NEGLIGIBLE = 1 / 256

/** Of values smaller than this part of what is freed by them, holding on is cheaper than computing again. */
const SMALL = 1 / 16

/**
 * What may be dropped at the operator that holds most: values that are idle across it and that can be moved, or that other operators can compute again.
 * Where the operators that do so read values which are no longer live there, there are two candidates: to hold these longer, and to drop them too.
 */
export function candidatesAtPeak(
  step: RepeatableStep,
  measured: MeasuredStep,
  timeline: StepTimeline,
  choices: Restorations,
  ways: Ways
): Pieces<Candidate[]> {
  return new PeakCandidates(step, measured, timeline, choices, ways).all()
}

class PeakCandidates {
  readonly #step: RepeatableStep
  readonly #measured: MeasuredStep
  readonly #timeline: StepTimeline
  readonly #choices: Restorations
  readonly #ways: Ways
  readonly #peak: number
  /** The last operator before the peak, and the first after it, that reads or writes each value; -1 for none. */
  readonly #before: Int32Array
  readonly #after: Int32Array
  /** All values that are computed again, by their originals. */
  readonly #copies = new Map<ValueId, ValueId[]>()
  /** After which operators an original is dropped. */
  readonly #dropped = new Map<ValueId, number[]>()

  constructor(step: RepeatableStep, measured: MeasuredStep, timeline: StepTimeline, choices: Restorations, ways: Ways) {
    this.#step = step
    this.#measured = measured
    this.#timeline = timeline
    this.#choices = choices
    this.#ways = ways
    const { operators, originals, staged } = timeline.step
    this.#peak = timeline.live.indexOf(timeline.peak)
    this.#before = new Int32Array(originals.length).fill(-1)
    this.#after = new Int32Array(originals.length).fill(-1)
    for (const [at, { operator }] of operators.entries())
      for (const id of present([...operator.inputs, ...operator.outputs]))
        if (at < this.#peak) this.#before[id] = at
        else if (at === this.#peak) this.#before[id] = this.#after[id] = at
        else if (this.#after[id]! < 0) this.#after[id] = at
    for (let copy = measured.values.length; copy < originals.length; copy++) if (!staged[copy]) append(this.#copies, originals[copy]!, copy)
    for (const [after, values] of choices.drops) for (const value of values) append(this.#dropped, value, after)
  }

  *all(): Pieces<Candidate[]> {
    const found: Candidate[] = []
    const live = this.#timeline.sharing.groups().filter(({ from, until }) => from <= this.#peak && until >= this.#peak)
    const least = NEGLIGIBLE * Math.max(...live.map(({ bytes }) => bytes))
    for (const { members, from, until, bytes, kept } of live) {
      yield
      if (kept || bytes < least || from === this.#peak || until === this.#peak) continue
      const there = members.filter((id) => this.#timeline.lives.from[id]! < this.#peak)
      const before = Math.max(...there.map((id) => this.#before[id]!))
      const after = Math.min(...members.map((id) => (this.#after[id]! < 0 ? Infinity : this.#after[id]!)))
      if (before >= this.#peak || after <= this.#peak || after === Infinity || this.#slot(before) >= this.#slot(after)) continue
      const originals = there.map((id) => this.#timeline.step.originals[id]!)
      const wanted = there.filter((id) => this.#after[id]! > this.#peak).map((id) => this.#timeline.step.originals[id]!)
      const dropped = originals.map((id) => [id, this.#slot(before)] as const)
      if (this.#ways.move) found.push(...this.#move(wanted, dropped, bytes))
      if (!this.#ways.recompute || originals.some((id) => this.#step.writers[id]! < 0 || this.#choices.moved.has(id))) continue
      for (const deep of [false, true]) {
        const chain = this.#chain(wanted, dropped, { bytes, after, deep })
        if (chain.freed > 0 && (!deep || chain.drops.length > dropped.length))
          found.push({ drops: chain.drops, moved: [], secondsPerByte: chain.seconds / chain.freed })
      }
    }
    return found.sort((a, b) => a.secondsPerByte - b.secondsPerByte)
  }

  /** Moves what is read after the peak. A reshaped value is the same bytes: what it was made of is moved. */
  #move(wanted: readonly ValueId[], dropped: Candidate['drops'], bytes: number): Candidate[] {
    const moved = new Set<ValueId>()
    for (const id of wanted) {
      const root = this.#root(id, dropped)
      if (root === undefined) return []
      moved.add(root)
    }
    if (moved.size !== 1) return []
    const { storeBytesPerSecond, fetchBytesPerSecond } = this.#measured.transfers!
    const secondsPerByte = 1 / storeBytesPerSecond + 1 / fetchBytesPerSecond
    const copied = this.#timeline.step.fetched.reduce(
      (sum, id) => sum + this.#measured.values[this.#timeline.step.originals[id]!]!.bytes,
      0
    )
    // The busier the tier is, the more a transfer is waited for.
    const busy = Math.min(1, ((copied + bytes) * secondsPerByte) / this.#timeline.seconds)
    return [{ drops: dropped, moved: [...moved], secondsPerByte: busy ** 2 * secondsPerByte }]
  }

  /** The value whose bytes are those of `id` and that can be moved; undefined if there is none. */
  #root(id: ValueId, dropped: Candidate['drops']): ValueId | undefined {
    const source = this.#step.sources[id]!
    if (source < 0) return undefined
    const { kind, inputs } = this.#step.operators[source]!.operator
    if (kind !== 'reshape') return id
    const from = inputs[0]!
    if (this.#step.writers[id]! < 0 || !dropped.some(([value]) => value === from)) return id
    return this.#root(from, dropped)
  }

  /** The operators that would run again before operator `after`. With `deep`, what they read and is dead by the peak is dropped, too. */
  #chain(
    wanted: readonly ValueId[],
    dropped: Candidate['drops'],
    { bytes, after, deep }: { readonly bytes: number; readonly after: number; readonly deep: boolean }
  ): { drops: Candidate['drops']; seconds: number; freed: number } {
    const drops = [...dropped]
    const gone = new Set(dropped.map(([id]) => id))
    const visited = new Set<number>()
    const queue = [...wanted]
    let [seconds, freed] = [0, bytes]
    for (let value = queue.pop(); value !== undefined; value = queue.pop()) {
      const writer = this.#step.writers[value]!
      if (visited.has(writer) || this.#choices.moved.has(value)) continue
      visited.add(writer)
      seconds += this.#measured.seconds[writer]!
      for (const id of present(this.#step.operators[writer]!.operator.inputs)) {
        if (gone.has(id)) queue.push(id)
        const state = gone.has(id) ? undefined : this.#heldAt(id, after)
        if (state === 'absent') queue.push(id)
        if (typeof state !== 'number' || state >= this.#peak) continue
        const size = this.#measured.values[id]!.bytes
        if (deep && this.#step.writers[id]! >= 0 && size > SMALL * bytes) {
          drops.push([id, this.#slot(state)])
          gone.add(id)
          queue.push(id)
        } else freed -= size
      }
    }
    return { drops, seconds, freed }
  }

  /** Whether a value is there for an operator: live, or held since its last use at an operator, or computed again afterwards in any case. */
  #heldAt(id: ValueId, at: number): 'live' | 'later' | 'absent' | number {
    if (this.#measured.values[id]!.role === 'parameter' || this.#measured.values[id]!.role === 'statistic') return 'live'
    const slot = this.#slot(at)
    const drops = this.#dropped.get(id) ?? []
    let held: number | undefined
    for (const each of [id, ...(this.#copies.get(id) ?? [])]) {
      const { lives } = this.#timeline
      const [from, until] = [lives.from[each]!, lives.until[each]!]
      if (from < at && until >= at) return 'live'
      if (from < at) held = drops.some((after) => after >= this.#slot(from) && after < slot) ? undefined : until
      else if (held === undefined && !drops.some((after) => after >= slot && after < this.#slot(from))) return 'later'
    }
    return held ?? 'absent'
  }

  #slot(at: number): number {
    return this.#timeline.step.operators[at]!.slot
  }
}

function append<Key>(lists: Map<Key, number[]>, key: Key, item: number): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
}
