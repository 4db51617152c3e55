import type { ValueId } from '../../model/graph.js'
import { isActivation, keep, touch, type SizedValue } from '../living.js'
import { aligned } from '../pack.js'
import { MemorySharing, type Lives } from '../share.js'
import type { RecomputedStep } from './recompute.js'

/** A step whose operators are timed and whose values are sized, by their numbers. */
export interface MeasuredStep {
  readonly values: readonly SizedValue[]
  readonly seconds: readonly number[]
  /** They stay readable to the end. */
  readonly named: readonly ValueId[]
}

/** A step's run, known beforehand: how long it takes, and what it holds while each operator runs. */
export interface StepTimeline {
  readonly step: RecomputedStep
  readonly lives: Lives
  readonly sharing: MemorySharing
  readonly seconds: number
  /** Bytes of activations and scratch at each operator. */
  readonly live: Float64Array
  /** The largest of them, and how many of the original operators hold so much, with what runs again before them. */
  readonly peak: number
  readonly slotsAtPeak: number
}

/** Runs the step without computing anything. */
export function simulate(step: RecomputedStep, { values, seconds, named }: MeasuredStep): StepTimeline {
  const { operators, originals } = step
  const lives: Lives = {
    from: new Int32Array(originals.length),
    until: new Int32Array(originals.length),
    bytes: new Float64Array(originals.length),
    shares: new Uint8Array(originals.length),
    kept: new Uint8Array(originals.length)
  }
  for (let id = 0; id < originals.length; id++) {
    const { bytes, role } = values[originals[id]!]!
    lives.bytes[id] = bytes
    lives.shares[id] = isActivation(role) ? 1 : 0
  }
  for (let at = 0; at < operators.length; at++) touch(lives, at, operators[at]!.operator.inputs, operators[at]!.operator.outputs)
  for (const id of named) keep(lives, id, operators.length)
  const sharing = new MemorySharing(lives)
  for (let at = 0; at < operators.length; at++) sharing.visit(operators[at]!.operator, at)

  const live = new Float64Array(operators.length + 1)
  for (let id = 0; id < originals.length; id++) {
    if (!sharing.isFirst(id)) continue
    const bytes = aligned(sharing.bytes[id]!)
    live[sharing.from[id]!]! += bytes
    live[sharing.until[id]! + 1]! -= bytes
  }
  let [total, held, peak, slotsAtPeak, slotAtPeak] = [0, 0, 0, 0, -1]
  for (let at = 0; at < operators.length; at++) {
    const { operator, number, slot } = operators[at]!
    total += seconds[number]!
    held += live[at]!
    live[at] = held + aligned(operator.scratchBytes)
    if (live[at]! > peak) [peak, slotsAtPeak, slotAtPeak] = [live[at]!, 0, -1]
    if (live[at] === peak && slot !== slotAtPeak) [slotsAtPeak, slotAtPeak] = [slotsAtPeak + 1, slot]
  }
  return { step, lives, sharing, seconds: total, live: live.subarray(0, operators.length), peak, slotsAtPeak }
}
