import type { LoweredOperator, PlacedValue, Program } from '../../../src/compiler/program.js'
import { inOrder, present } from '../../../src/compiler/step.js'
import { IN_PLACE } from '../../fakes/lowering.js'

const LINE = 64
const SCRATCH = -2
const UNSETTLED = -3

/**
 * Runs a Program on memory that remembers, line by line, which value was written there last, and throws where an operator reads a
 * value that something has overwritten, or where an operator's own values lie on each other although it may not overwrite. Transfers run as late as they
 * may, and their targets must not be read before.
 */
export function simulate(program: Program): void {
  const lines = Object.fromEntries(
    Object.entries(program.arenas).map(([arena, bytes]) => [arena, new Int32Array(Math.ceil(bytes / LINE)).fill(-1)])
  )
  const content = program.values.map(({ id }) => id)
  const write = (value: PlacedValue, token: number): void => void lines[value.placement.arena]!.fill(token, ...range(value))
  const intact = (value: PlacedValue, reader: string): void => {
    const seen = lines[value.placement.arena]!.slice(...range(value))
    if (seen.some((token) => token !== content[value.id]))
      throw new Error(`${reader} reads ${value.name}, of which something is overwritten`)
  }
  const loaded = program.segments.load.length > 0
  const persistent = program.values.filter(({ role }) => role === 'parameter' || role === 'statistic' || (role === 'input' && !loaded))
  for (const value of persistent) write(value, value.id)
  for (const operator of inOrder(program.segments)) {
    const inputs = present(operator.inputs).map((id) => program.values[id]!)
    const outputs = present(operator.outputs).map((id) => program.values[id]!)
    if (operator.kind === 'settle') {
      const [from, to] = inputs as [PlacedValue, PlacedValue]
      intact(from, `settle ${operator.name}`)
      write(to, content[to.id]!)
      continue
    }
    for (const value of inputs) intact(value, `${operator.kind} ${operator.name}`)
    checkItself(operator, program)
    if (operator.kind === 'reshape' && inputs[0]!.placement.offset === outputs[0]!.placement.offset)
      content[outputs[0]!.id] = content[inputs[0]!.id]!
    const { offset, bytes } = operator.scratch
    if (bytes > 0) lines.activations!.fill(SCRATCH, offset / LINE, Math.ceil((offset + bytes) / LINE))
    const moves = operator.kind === 'store' || operator.kind === 'fetch'
    for (const value of outputs) write(value, moves ? UNSETTLED : content[value.id]!)
  }
  for (const [name, id] of Object.entries(program.named))
    if (name !== 'target' || loaded) intact(program.values[id]!, `the caller (${name})`)
  for (const value of persistent) intact(value, 'the next step')
}

/** The lines on which a value lies. */
function range({ bytes, placement }: PlacedValue): [number, number] {
  return [placement.offset / LINE, Math.ceil((placement.offset + bytes) / LINE)]
}

/** No output and no scratch on an input, but where the operator may overwrite it or its input and output are one. */
function checkItself(operator: LoweredOperator, program: Program): void {
  const pieces: { what: string; arena: string; from: number; until: number }[] = []
  const spanOf = (id: number): { arena: string; from: number; until: number } => {
    const { placement, bytes } = program.values[id]!
    return { arena: placement.arena, from: placement.offset, until: placement.offset + bytes }
  }
  for (const [i, id] of operator.inputs.entries()) if (id >= 0) pieces.push({ what: `input ${i}`, ...spanOf(id) })
  for (const [i, id] of operator.outputs.entries())
    if (id >= 0 && !operator.inputs.includes(id)) pieces.push({ what: `output ${i}`, ...spanOf(id) })
  const { bytes, offset } = operator.scratch
  if (bytes > 0) pieces.push({ what: 'scratch', arena: 'activations', from: offset, until: offset + bytes })
  const allowed = new Set(
    (operator.kind === 'reshape' ? [[0, 0]] : (IN_PLACE[operator.kind] ?? [])).map(([output, input]) => `input ${input} output ${output}`)
  )
  for (const [i, a] of pieces.entries())
    for (const b of pieces.slice(i + 1)) {
      const overlap = a.arena === b.arena && a.from < b.until && b.from < a.until
      const inputs = a.what.startsWith('input') && b.what.startsWith('input')
      if (overlap && !inputs && !(allowed.has(`${a.what} ${b.what}`) && a.from === b.from))
        throw new Error(`${operator.kind} ${operator.name}: ${a.what} and ${b.what} overlap`)
    }
}
