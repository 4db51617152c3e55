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

/** A problem of whose inputs one is no number in some elements or in all, and what the reference makes of it. */
export interface Harmed extends Problem {
  readonly input: string
  readonly expected: Values
}

/** The problem with each of its inputs harmed in turn: in every seventh element, then in all. */
export function harmed({ use, values }: Problem): Harmed[] {
  const floats = present(use.inputs).filter(([, { type }]) => type === 'activation' || type === 'wide')
  return floats.flatMap(([input]) =>
    [7, 1].map((distance) => {
      const harmedValues = values[input]!.map((value, i) => (i % distance === distance - 1 ? NaN : value))
      const given = { ...values, [input]: harmedValues }
      return { use, values: given, input, expected: runOnce('reference', 'f32', use, given).outputs }
    })
  )
}

/** Where a backend hides what is no number, or makes it up, or says another position than the reference. */
export function nanFaults(backend: EngineBackend, problems: readonly Harmed[]): string[] {
  return problems.flatMap(({ use, values, input, expected }) => {
    const { outputs } = runOnce(backend, 'f32', use, values)
    return Object.entries(expected).flatMap(([output, theirs]) => {
      const ours = outputs[output]!
      const where = `${use.kind} ${use.name}: ${output}`
      const some = (fault: (ours: number, theirs: number) => boolean): boolean => theirs.some((number, i) => fault(ours[i]!, number))
      if (use.outputs[output]!.type === 'position')
        return some((a, b) => a !== b) ? [`${where} is another where ${input} is no number`] : []
      return [
        ...(some((a, b) => Number.isNaN(b) && !Number.isNaN(a)) ? [`${where} hides that ${input} is no number`] : []),
        ...(some((a, b) => Number.isNaN(a) && !Number.isNaN(b)) && !maySpread(backend, use) ? [`${where} makes up what is no number`] : [])
      ]
    })
  })
}

/**
 * Whether a backend may make of one that is no number several: Winograd's transforms add up what lies in a tile, and causal attention multiplies by zero what
 * comes later.
 */
function maySpread(backend: EngineBackend, { kind }: OperatorCase): boolean {
  return backend !== 'reference' && (kind === 'causalSelfAttention' || (backend === 'cpu' && kind === 'conv2d'))
}
