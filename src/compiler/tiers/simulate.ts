import { NONE, type ValueId } from '../../model/graph.js'
import { isActivation, keep, touch, type SizedValue } from '../living.js'
import { aligned, TRANSFER_UNIT } from '../pack.js'
import { MemorySharing, type Lives } from '../share.js'
import type { RestoredStep } from './restore.js'
import { giveTime, tightMoves, TransferChannel, withTransfers, type Move, type StagedStep, type TransferSpeed } from './transfers.js'

/** A step whose operators are timed and whose values are sized, by their numbers. */
export interface MeasuredStep {
  readonly values: readonly SizedValue[]
  readonly seconds: readonly number[]
  /** They stay readable to the end. */
  readonly named: readonly ValueId[]
  /** Of the second tier; absent if there is none. */
  readonly transfers?: TransferSpeed | undefined
  /** Whether transfers may have time ahead of the operators that need them; they may if omitted. */
  readonly prefetch?: boolean
}

/** A step's run, known beforehand: how long it takes, and what it holds while each operator runs. */
export interface StepTimeline {
  readonly step: StagedStep
  readonly lives: Lives
  readonly sharing: MemorySharing
  readonly seconds: number
  /** Bytes of activations and scratch at each operator. */
  readonly live: Float64Array
  /** The largest of them, and how many of the original operators hold so much, with what runs again before them. */
  readonly peak: number
  readonly slotsAtPeak: number
}

/** Runs the step without computing anything. Its transfers hold values no longer than they must. */
export function simulate(step: RestoredStep, measured: MeasuredStep): StepTimeline {
  return run(withTransfers(step, movesOf(step, measured)), measured)
}

/** The same step, whose transfers have time while no operator holds more than `limit` bytes. */
export function withTime(step: RestoredStep, tight: StepTimeline, measured: MeasuredStep, limit: number): StepTimeline {
  const moves = movesOf(step, measured)
  if (moves.length === 0 || !measured.transfers || measured.prefetch === false) return tight
  const live = tight.live.filter((_, at) => tight.step.operators[at]!.number !== NONE)
  giveTime(moves, { live, starts: startsOf(step, measured), limit, speed: measured.transfers })
  return run(withTransfers(step, moves), measured)
}

function movesOf(step: RestoredStep, { values }: MeasuredStep): Move[] {
  return tightMoves(step, (copy) => values[step.originals[copy]!]!.bytes)
}

/** When each operator would begin if none waited, and when the last one would end. */
function startsOf({ operators }: RestoredStep, { seconds }: MeasuredStep): Float64Array {
  const starts = new Float64Array(operators.length + 1)
  for (let at = 0; at < operators.length; at++) starts[at + 1] = starts[at]! + seconds[operators[at]!.number]!
  return starts
}

/** A value that is moved takes whole units. */
function widen({ bytes }: Lives, id: ValueId): void {
  bytes[id] = aligned(bytes[id]!, TRANSFER_UNIT)
}

function run(step: StagedStep, { values, seconds, named, transfers }: MeasuredStep): StepTimeline {
  const { operators, originals, staged } = step
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
    lives.shares[id] = isActivation({ role, staged: staged[id] === 1 }) ? 1 : 0
  }
  for (const { operator } of operators)
    if (operator.kind === 'store') widen(lives, operator.inputs[0]!)
    else if (operator.kind === 'fetch') widen(lives, operator.outputs[0]!)
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
  const channel = new TransferChannel(transfers)
  const bytesOf = (id: ValueId): number => lives.bytes[id]!
  let [total, held, peak, slotsAtPeak, slotAtPeak] = [0, 0, 0, 0, -1]
  for (let at = 0; at < operators.length; at++) {
    const { operator, number, slot } = operators[at]!
    total = number === NONE ? channel.after(operator, total, bytesOf) : total + seconds[number]!
    held += live[at]!
    live[at] = held + aligned(operator.scratchBytes)
    if (live[at]! > peak) [peak, slotsAtPeak, slotAtPeak] = [live[at]!, 0, -1]
    if (live[at] === peak && slot !== slotAtPeak) [slotsAtPeak, slotAtPeak] = [slotsAtPeak + 1, slot]
  }
  return { step, lives, sharing, seconds: total, live: live.subarray(0, operators.length), peak, slotsAtPeak }
}
