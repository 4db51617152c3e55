import type { EngineBackend } from '../../../src/compiler/program.js'
import type { Problem } from './backward-case.js'
import { runOnce } from './bound-operator.js'
import { present, type OperatorCase, type Values } from './operator-case.js'

/**
 * Whether a backend may differ from the reference in what is no number. oneDNN's fused ReLU takes for a zero what is no number; and where a window lies in
 * the padding alone, its depthwise convolution for AVX2 multiplies zeros by the weights, which the reference does not read there.
 */
export function maySeeNaNOtherwise(backend: EngineBackend, { kind, attributes, inputs }: OperatorCase): boolean {
  if (backend !== 'cpu' || (kind !== 'conv2d' && kind !== 'linear')) return false
  const filter = inputs['w']?.shape.slice(2) ?? []
  const padding = (attributes['padding'] as readonly number[] | undefined) ?? []
  return attributes['relu'] === 1 || padding.some((count, axis) => count >= filter[axis]!)
}

/** A problem of whose inputs one is no number in any element, and what the reference makes of it. */
export interface Harmed extends Problem {
  readonly input: string
  readonly expected: Values
}

/** The problem with each of its inputs harmed in turn. */
export function harmed({ use, values }: Problem): Harmed[] {
  const floats = present(use.inputs).filter(([, { type }]) => type === 'activation' || type === 'wide')
  return floats.map(([input]) => {
    const given = { ...values, [input]: values[input]!.slice().fill(NaN) }
    return { use, values: given, input, expected: runOnce('reference', 'f32', use, given).outputs }
  })
}

/** Where a backend and the reference do not agree on what is no number. */
export function nanFaults(backend: EngineBackend, problems: readonly Harmed[]): string[] {
  return problems.flatMap(({ use, values, input, expected }) => {
    const { outputs } = runOnce(backend, 'f32', use, values)
    return Object.entries(expected)
      .filter(([output, numbers]) => numbers.some((number, i) => Number.isNaN(number) !== Number.isNaN(outputs[output]![i])))
      .map(([output]) => `${use.kind} ${use.name}: ${output} hides that ${input} is no number, or makes it up`)
  })
}
