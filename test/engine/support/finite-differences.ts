import { backwardProblem, forwardProblem } from './backward-case.js'
import { BoundOperator, runOnce } from './bound-operator.js'
import { elements, generator, present, type Values } from './operator-case.js'
import type { BackwardRow, OperatorRow, Use } from './operator-table.js'

const STEP = 1e-5
const TOLERANCE = 1e-6
/** Elements of each input whose derivative is taken. */
const SAMPLES = 8

/** Small enough to be run some hundred times. */
export const isSmall = (use: Use): boolean => present(use.inputs).every(([, port]) => elements(port.shape) <= 1000)

/**
 * Where a backward operator, in double on the reference, disagrees with central differences of its forward operator: of sum(y * gy), or of the
 * loss itself.
 */
export function gradientFaults(row: OperatorRow, backward: BackwardRow, use: Use): string[] {
  const { use: backwardUse, values } = backwardProblem(row, backward, use, 'f64')
  const gradients = runOnce('reference', 'f64', backwardUse, values).outputs
  const forward = forwardProblem(row, use, 'f64')
  const bound = new BoundOperator('reference', 'f64', forward.use)
  try {
    const objective = (): number => scalar(bound.run(forward.values).outputs, values)
    return present(backwardUse.outputs).flatMap(([name]) => {
      const input = forward.values[name.slice(1)]
      if (!input) return []
      return sampled(input.length).flatMap((i) => {
        const slope = derivative(input, i, objective)
        const found = gradients[name]![i]!
        const limit = TOLERANCE * Math.max(1, Math.abs(slope))
        return Math.abs(found - slope) <= limit ? [] : [`${use.name}: ${name}[${i}] is ${found}, by differences ${slope}`]
      })
    })
  } finally {
    bound.release()
  }
}

function scalar(outputs: Values, { gy, gy2 }: Values): number {
  if (outputs['loss']) return outputs['loss'][0]!
  return outputs['y']!.reduce((sum, y, i) => sum + y * (gy![i]! + (gy2?.[i] ?? 0)), 0)
}

function derivative(input: Float64Array, i: number, objective: () => number): number {
  const at = input[i]!
  const [above, below] = [at + STEP, at - STEP].map((x) => {
    input[i] = x
    return objective()
  }) as [number, number]
  input[i] = at
  return (above - below) / (2 * STEP)
}

function sampled(length: number): number[] {
  if (length <= SAMPLES) return Array.from({ length }, (_, i) => i)
  const next = generator(length)
  return Array.from({ length: SAMPLES }, () => Math.floor(next() * length))
}
