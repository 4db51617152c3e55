import { ArbalestError } from '../../../src/errors.js'
import type { ValueId } from '../../../src/model/graph.js'
import { aligned, ALIGNMENT, TRANSFER_UNIT } from '../../../src/compiler/pack.js'
import type { Arena, LoweredOperator, PlacedValue, Program } from '../../../src/compiler/program.js'
import { inOrder, present } from '../../../src/compiler/step.js'
import { isTransfer } from '../../../src/compiler/tiers/cost.js'

/** Bytes [from, until) of an arena. */
interface Span {
  readonly what: string
  readonly arena: Arena
  readonly from: number
  readonly until: number
}

/**
 * What every Program promises: values lie aligned in their arenas; an operator reads only what was written, or what outlives the step,
 * and lies within its values' lifetimes; values that live at the same time do not overlap, unless one is the other reshaped or is
 * written over it by the operator that reads it last; parameters do not overlap, and gradients lie as they do; values that are moved lie in whole
 * units, and every transfer is settled.
 *
 * Throws INVALID_PROGRAM with the first broken promise.
 */
export function checkProgram(program: Program): void {
  const operators = inOrder(program.segments)
  checkPlaces(program, operators)
  checkOrder(program, operators)
  checkLifetimes(program, operators)
  checkTransfers(program, operators)
  checkParameters(program)
}

function broken(program: Program, promise: string): ArbalestError {
  return new ArbalestError('INVALID_PROGRAM', `program ${program.name}: ${promise}`)
}

function spanOf({ name, bytes, placement }: PlacedValue): Span {
  return { what: name, arena: placement.arena, from: placement.offset, until: placement.offset + bytes }
}

function overlap(a: Span, b: Span): boolean {
  return a.arena === b.arena && a.from < b.until && b.from < a.until
}

function checkPlaces(program: Program, operators: readonly LoweredOperator[]): void {
  const scratch = operators
    .filter((operator) => operator.scratch.bytes > 0)
    .map(({ name, scratch: { bytes, offset } }): Span => ({
      what: `scratch of ${name}`,
      arena: 'activations',
      from: offset,
      until: offset + bytes
    }))
  for (const { what, arena, from, until } of [...program.values.map(spanOf), ...scratch])
    if (from < 0 || from % ALIGNMENT !== 0 || until <= from || until > program.arenas[arena])
      throw broken(program, `${what} lies at bytes ${from} to ${until} of the ${program.arenas[arena]} of ${arena}`)
}

/** Statistics, weights and what the caller writes are there from the start. */
function checkOrder(program: Program, operators: readonly LoweredOperator[]): void {
  const computed = new Set(operators.flatMap(({ outputs }) => outputs))
  const there = ({ id, role }: PlacedValue): boolean =>
    role === 'parameter' || role === 'statistic' || ((role === 'input' || role === 'target') && !computed.has(id))
  const written = new Set(program.values.filter(there).map(({ id }) => id))
  for (const { kind, name, inputs, outputs } of operators) {
    for (const id of present([...inputs, ...outputs]))
      if (!program.values[id]) throw broken(program, `operator ${name} names value ${id}, which is not there`)
    for (const id of present(inputs))
      if (!written.has(id)) throw broken(program, `${kind} ${name} reads ${program.values[id]!.name} before it is written`)
    for (const id of present(outputs)) {
      if (written.has(id) && program.values[id]!.role !== 'statistic')
        throw broken(program, `${kind} ${name} writes ${program.values[id]!.name} a second time`)
      written.add(id)
    }
  }
}

function checkLifetimes(program: Program, operators: readonly LoweredOperator[]): void {
  for (const [at, { name, inputs, outputs }] of operators.entries())
    for (const id of present([...inputs, ...outputs])) {
      const { placement, name: value } = program.values[id]!
      if (at < placement.from || at > placement.until)
        throw broken(program, `operator ${name} (${at}) uses ${value}, which lives from ${placement.from} to ${placement.until}`)
    }
  const source = reshaped(operators)
  const living = program.values.filter(({ placement }) => placement.arena === 'activations' || placement.arena === 'staged')
  for (const [i, a] of living.entries()) {
    for (const b of living.slice(i + 1)) {
      const from = Math.max(a.placement.from, b.placement.from)
      const until = Math.min(a.placement.until, b.placement.until)
      if (from > until || !overlap(spanOf(a), spanOf(b)) || sameMemory(a, b, source)) continue
      if (from !== until || !overwrites(operators[from]!, a, b, source))
        throw broken(program, `${a.name} and ${b.name} overlap while both live (${from} to ${until})`)
    }
    for (let at = a.placement.from; at <= a.placement.until; at++) {
      const { scratch, name } = operators[at] ?? { scratch: { bytes: 0, offset: 0 }, name: '' }
      const span: Span = { what: name, arena: 'activations', from: scratch.offset, until: scratch.offset + scratch.bytes }
      if (scratch.bytes > 0 && overlap(spanOf(a), span)) throw broken(program, `${a.name} and the scratch of ${name} overlap`)
    }
  }
}

function checkTransfers(program: Program, operators: readonly LoweredOperator[]): void {
  const begun = new Set<string>()
  const inVectors = ({ placement: { arena } }: PlacedValue): boolean => arena === 'weights' || arena === 'gradients'
  for (const { kind, name, inputs, outputs } of operators) {
    const values = present([...inputs, ...outputs]).map((id) => program.values[id]!)
    if (!isTransfer(kind))
      for (const { name: value, placement } of values)
        if (placement.tier === 'host') throw broken(program, `${kind} ${name} uses ${value}, which lies in the second tier`)
    const transfer = [...inputs, ...outputs].join(' ')
    if (kind === 'settle' && !begun.delete(transfer)) throw broken(program, `settle ${name} waits for nothing`)
    if (kind !== 'store' && kind !== 'fetch') continue
    begun.add(transfer)
    const tiers = values.map(({ placement: { tier } }) => tier).join(' ')
    if (tiers !== (kind === 'store' ? 'device host' : 'host device')) throw broken(program, `${kind} ${name} is from ${tiers}`)
    // Vectors lie as they would on the device.
    if (values.some(inVectors)) continue
    for (const { name: value, placement, bytes } of values)
      if (placement.offset % TRANSFER_UNIT !== 0 || placement.offset + aligned(bytes, TRANSFER_UNIT) > program.arenas[placement.arena])
        throw broken(program, `${value} is moved and does not lie in whole units`)
  }
  if (begun.size > 0) throw broken(program, `${begun.size} transfers are not settled`)
}

/** Each reshaped value's original. */
function reshaped(operators: readonly LoweredOperator[]): (id: ValueId) => ValueId {
  const from = new Map(operators.filter(({ kind }) => kind === 'reshape').map(({ inputs, outputs }) => [outputs[0]!, inputs[0]!]))
  const source = (id: ValueId): ValueId => (from.has(id) ? source(from.get(id)!) : id)
  return source
}

function sameMemory(a: PlacedValue, b: PlacedValue, source: (id: ValueId) => ValueId): boolean {
  return source(a.id) === source(b.id) && a.placement.offset === b.placement.offset
}

/** One of the two is read here for the last time, and the other is written over it. */
function overwrites(operator: LoweredOperator, a: PlacedValue, b: PlacedValue, source: (id: ValueId) => ValueId): boolean {
  const reads = (value: PlacedValue): boolean => operator.inputs.some((id) => id >= 0 && source(id) === source(value.id))
  const writes = (value: PlacedValue): boolean => operator.outputs.includes(value.id)
  return a.placement.offset === b.placement.offset && ((reads(a) && writes(b)) || (reads(b) && writes(a)))
}

function checkParameters(program: Program): void {
  const { parameters, bytes } = program.parameters
  let end = 0
  for (const { name, offset, bytes: size } of parameters) {
    if (offset < end || offset + size > bytes) throw broken(program, `parameter ${name} overlaps the one before it or leaves the vector`)
    end = offset + size
  }
  const placed = new Map(parameters.map((parameter) => [parameter.name, parameter]))
  for (const { name, role, type, layout, placement } of program.values) {
    if (role !== 'parameter' && role !== 'parameterGradient') continue
    const parameter = placed.get(role === 'parameter' ? name : name.slice(0, -'.gradient'.length))
    if (!parameter || parameter.offset !== placement.offset || parameter.type !== type || parameter.layout !== layout)
      throw broken(program, `${name} does not lie as the parameter vector says`)
  }
}
