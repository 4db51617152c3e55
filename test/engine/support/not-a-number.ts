import type { EngineBackend } from '../../../src/compiler/program.js'
import type { Problem } from './backward-case.js'
import { runOnce } from './bound-operator.js'
import { present, type OperatorCase } from './operator-case.js'

/** oneDNN's fused ReLU takes for a zero what is no number: the one place where a backend does not keep it. */
export function hidesNaN(backend: EngineBackend, { kind, attributes }: OperatorCase): boolean {
  return backend === 'cpu' && (kind === 'conv2d' || kind === 'linear') && attributes['relu'] === 1
}

/** Where a backend and the reference do not agree on what is no number, when all of one input is none. */
export function nanFaults(backend: EngineBackend, { use, values }: Problem): string[] {
  const floats = present(use.inputs).filter(([, { type }]) => type === 'activation' || type === 'wide')
  return floats.flatMap(([input]) => {
    const harmed = { ...values, [input]: values[input]!.slice().fill(NaN) }
    const expected = runOnce('reference', 'f32', use, harmed).outputs
    const { outputs } = runOnce(backend, 'f32', use, harmed)
    return Object.entries(expected)
      .filter(([output, numbers]) => numbers.some((number, i) => Number.isNaN(number) !== Number.isNaN(outputs[output]![i])))
      .map(([output]) => `${use.kind} ${use.name}: ${output} hides that ${input} is no number, or makes it up`)
  })
}
