import type { Precision } from '../../../src/compiler/program.js'
import { runOnce } from './bound-operator.js'
import { drawn, rounded, type OperatorCase, type Port, type Values } from './operator-case.js'
import type { BackwardRow, OperatorRow, Use } from './operator-table.js'

export interface Problem {
  readonly use: OperatorCase
  readonly values: Values
}

export function forwardProblem(row: OperatorRow, use: Use, precision: Precision): Problem {
  return { use: { ...use, kind: row.kind }, values: drawn(use.inputs, precision, seedOf(use.name)) }
}

/** True where the backward operators of the row fit the case: a mask for relu must be among their inputs. */
export function hasBackward(row: OperatorRow, use: Use): boolean {
  return !use.attributes['relu'] || row.backward.some((backward) => backward.inputs.includes('y'))
}

/** The backward operator's inputs: what the forward operator read and wrote, in the precision, and a random gradient of its output. */
export function backwardProblem(row: OperatorRow, backward: BackwardRow, use: Use, precision: Precision): Problem {
  const forward = forwardProblem(row, use, precision)
  const written = runOnce('reference', 'f64', forward.use, forward.values).outputs
  const [result] = Object.values(use.outputs)
  const ports: Record<string, Port | null> = { ...use.inputs, ...use.outputs, gy: gradientPort(result!), ...use.further }
  const values = { ...drawn(ports, precision, seedOf(use.name) + 1), ...forward.values, ...inPrecision(written, precision) }
  // Without relu there is nothing to mask.
  if (use.attributes['relu'] === 0) ports['y'] = null
  const inputs = Object.fromEntries(backward.inputs.map((name) => [name, ports[name] ?? null]))
  // A gradient of what is no input is among the further ports.
  const outputs = Object.fromEntries(
    backward.outputs.map((name) => [name, gradientPort(use.inputs[name.slice(1)] ?? use.further?.[name] ?? null)])
  )
  const named = Object.fromEntries(Object.keys(inputs).flatMap((name) => (inputs[name] ? [[name, values[name]!]] : [])))
  return { use: { kind: backward.kind, name: use.name, attributes: use.attributes, inputs, outputs }, values: named }
}

const gradientPort = (port: Port | null): Port | null => port && { shape: port.shape, type: port.type }

function inPrecision(values: Values, precision: Precision): Values {
  return Object.fromEntries(Object.entries(values).map(([name, numbers]) => [name, numbers.map((x) => rounded(x, precision))]))
}

function seedOf(name: string): number {
  let seed = 1
  for (const character of name) seed = (seed * 31 + character.charCodeAt(0)) % 1_000_003
  return seed + 1
}
