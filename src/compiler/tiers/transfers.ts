import { NONE, type ValueId } from '../../model/graph.js'
import type { LoweredStepOperator } from '../lower.js'
import type { RestoredStep, ScheduledOperator } from './restore.js'

/** How fast values are copied to the second tier and back: by all learners of a device together. */
export interface TransferSpeed {
  readonly storeBytesPerSecond: number
  readonly fetchBytesPerSecond: number
  /** Whether both directions run at once at these speeds, as between a GPU and its host; a disk does one after the other. */
  readonly bothWays: boolean
}

/** When a value is moved, by the numbers of the operators of a step in which values are restored. */
export interface Move {
  readonly value: ValueId
  readonly bytes: number
  /** Its store begins before this operator. */
  readonly stored: number
  /** Its store is settled before this operator. */
  settled: number
  readonly fetches: Fetch[]
}

interface Fetch {
  readonly copy: ValueId
  /** It begins before this operator, and is settled before the one that needs it. */
  begun: number
  readonly needed: number
}

/** A step with its transfers as operators. */
export interface StagedStep extends RestoredStep {
  /** Whether a value lies in the second tier. */
  readonly staged: Uint8Array
}

/** Predictions are not exact: transfers are given this many times the time that they take. */
const MARGIN = 1.2

/**
 * The transfers of a step, as short as they can be: a store begins as soon as its value is written and is settled before the value's last reader; a fetch
 * begins where its value is needed.
 */
export function tightMoves({ operators, originals, fetched }: RestoredStep, bytes: (id: ValueId) => number): Move[] {
  const moves = new Map<ValueId, Move>()
  const [written, read, needed] = [new Map<ValueId, number>(), new Map<ValueId, number>(), new Map<ValueId, number>()]
  for (const id of fetched) read.set(originals[id]!, NONE)
  for (const [at, { operator }] of operators.entries()) {
    for (const id of operator.outputs) if (read.has(id)) written.set(id, at)
    for (const id of operator.inputs) {
      if (read.has(id)) read.set(id, overwrites(operator, id) ? at : at + 1)
      else if (id !== NONE && originals[id] !== id && !needed.has(id)) needed.set(id, at)
    }
  }
  for (const copy of fetched) {
    const value = originals[copy]!
    const stored = written.get(value)! + 1
    let move = moves.get(value)
    if (!move) moves.set(value, (move = { value, bytes: bytes(value), stored, settled: Math.max(stored, read.get(value)!), fetches: [] }))
    const at = needed.get(copy)!
    move.fetches.push({ copy, begun: at, needed: at })
  }
  return [...moves.values()]
}

/** The operator may write its result over this input. */
function overwrites({ inputs, inPlace }: LoweredStepOperator, id: ValueId): boolean {
  return inPlace.some(([, input]) => inputs[input] === id)
}

/**
 * Gives transfers as much time as they need and `limit` allows, so that other operators run meanwhile: `live` are the bytes that each operator holds when
 * transfers are short, `starts` when each would begin if none waited. Stores are settled later, and fetches begin earlier.
 */
export function giveTime(
  moves: readonly Move[],
  {
    live,
    starts,
    limit,
    speed
  }: { readonly live: Float64Array; readonly starts: Float64Array; readonly limit: number; readonly speed: TransferSpeed }
): void {
  const fits = (at: number, bytes: number): boolean => live[at]! + bytes <= limit
  let free = 0
  for (const move of moves.toSorted((a, b) => a.stored - b.stored)) {
    free = Math.max(free, starts[move.stored]!) + (MARGIN * move.bytes) / speed.storeBytesPerSecond
    const last = move.fetches[0]!.needed
    while (move.settled < last && starts[move.settled]! < free && fits(move.settled, move.bytes)) live[move.settled++]! += move.bytes
  }
  const fetches = moves.flatMap((move) => move.fetches.map((fetch) => ({ move, fetch })))
  let busy = Infinity
  for (const { move, fetch } of fetches.sort((a, b) => b.fetch.needed - a.fetch.needed)) {
    const start = Math.min(busy, starts[fetch.needed]!) - (MARGIN * move.bytes) / speed.fetchBytesPerSecond
    while (fetch.begun > move.settled && starts[fetch.begun]! > start && fits(fetch.begun - 1, move.bytes))
      live[--fetch.begun]! += move.bytes
    busy = Math.min(busy, starts[fetch.begun]!)
  }
}

/** The step with these transfers. What is settled before an operator is, before others begin. */
export function withTransfers(step: RestoredStep, moves: readonly Move[]): StagedStep {
  const originals = [...step.originals]
  const before = new Map<number, Record<'stored' | 'begun' | 'stores' | 'needed', LoweredStepOperator[]>>()
  const at = (number: number) => {
    let there = before.get(number)
    if (!there) before.set(number, (there = { stored: [], stores: [], begun: [], needed: [] }))
    return there
  }
  const stagedIds: ValueId[] = []
  for (const { value, stored, settled, fetches } of moves) {
    const staged = originals.push(value) - 1
    stagedIds.push(staged)
    at(stored).stores.push(transfer('store', [value], [staged]))
    at(settled).stored.push(transfer('settle', [value, staged], []))
    for (const { copy, begun, needed } of fetches) {
      at(begun).begun.push(transfer('fetch', [staged], [copy]))
      at(needed).needed.push(transfer('settle', [staged, copy], []))
    }
  }
  const operators: ScheduledOperator[] = []
  for (const [number, scheduled] of step.operators.entries()) {
    const there = before.get(number)
    if (there)
      for (const operator of [...there.stores, ...there.stored, ...there.begun, ...there.needed])
        operators.push({ operator, number: NONE, slot: scheduled.slot })
    operators.push(scheduled)
  }
  const staged = new Uint8Array(originals.length)
  for (const id of stagedIds) staged[id] = 1
  return { operators, originals, fetched: step.fetched, staged }
}

export function transfer(kind: 'store' | 'fetch' | 'settle', inputs: readonly ValueId[], outputs: readonly ValueId[]): LoweredStepOperator {
  return { kind, name: kind, inputs, outputs, attributes: {}, scratchBytes: 0, inPlace: [], implementation: 'transfer' }
}

/** When transfers end that begin one after another, beside what else runs. */
export class TransferChannel {
  readonly #speed: TransferSpeed | undefined
  readonly #ends = new Map<ValueId, number>()
  #stores = 0
  #fetches = 0

  constructor(speed: TransferSpeed | undefined) {
    this.#speed = speed
  }

  /** The time after an operator that begins at `time`, if it is a transfer. */
  after(
    { kind, inputs, outputs }: Pick<LoweredStepOperator, 'kind' | 'inputs' | 'outputs'>,
    time: number,
    bytes: (id: ValueId) => number
  ): number {
    if (kind === 'settle') return Math.max(time, this.#ends.get(inputs[1]!) ?? 0)
    if (!this.#speed || (kind !== 'store' && kind !== 'fetch')) return time
    const { storeBytesPerSecond, fetchBytesPerSecond, bothWays } = this.#speed
    const moved = bytes(outputs[0]!)
    const busy = bothWays ? (kind === 'store' ? this.#stores : this.#fetches) : Math.max(this.#stores, this.#fetches)
    const end = Math.max(time, busy) + moved / (kind === 'store' ? storeBytesPerSecond : fetchBytesPerSecond)
    if (kind === 'store') this.#stores = end
    else this.#fetches = end
    this.#ends.set(outputs[0]!, end)
    return time
  }
}
