import { workloadOf, type CasePrecision } from './cases.js'
import {
  compile,
  engine,
  loweringBackend,
  modelNamed,
  SEGMENTS,
  type LoweringBackend,
  type MemoryLimit,
  type Program
} from './internals.js'
import { directFlops } from './necessary-flops.js'

export const cpu = loweringBackend(engine, 'cpu', 1)

/** The training program of a zoo model on the CPU, as `train` compiles it for the bench's data. */
export function trainingProgram(
  model: string,
  batch: number,
  precision: CasePrecision,
  { backend = cpu, limit }: { readonly backend?: LoweringBackend; readonly limit?: MemoryLimit } = {}
): Program {
  const { sample, classes } = workloadOf(model)
  const pixels = sample.length === 3 && { mean: [0.5], std: [0.29] }
  return compile(modelNamed(model, { input: sample, classes }), backend, {
    ...(limit && { limit }),
    batch,
    mode: 'train',
    precision,
    load: { padding: 0, flip: false, mean: [], std: [], ...pixels, shuffled: true },
    optimiser: { momentum: 0.9, weightDecay: 1e-4, nesterov: false }
  })
}

/** Floating-point operations of a training step as sums of products, for one image; without those on padding. */
export function flopsPerImage(model: string, batch: number, precision: CasePrecision): number {
  const program = trainingProgram(model, batch, precision)
  return SEGMENTS.flatMap((name) => program.segments[name]).reduce((sum, operator) => sum + directFlops(program, operator), 0) / batch
}
