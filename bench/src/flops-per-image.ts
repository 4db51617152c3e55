import { workloadOf, type CasePrecision } from './cases.js'
import { compile, engine, modelNamed, SEGMENTS, type LoweringBackend, type Program } from './internals.js'

export const cpu: LoweringBackend = {
  name: 'cpu',
  lower: (request) => engine.lower('cpu', request),
  bytes: (shape, type, layout) => engine.bytes('cpu', shape, type, layout)
}

/** The training program of a zoo model on the CPU, as `train` compiles it for the bench's data. */
export function trainingProgram(model: string, batch: number, precision: CasePrecision): Program {
  const { sample, classes } = workloadOf(model)
  return compile(modelNamed(model, { input: sample, classes }), cpu, {
    batch,
    mode: 'train',
    precision,
    load: { padding: 0, flip: false, mean: [0.5], std: [0.29], shuffled: true },
    optimiser: { momentum: 0.9, weightDecay: 1e-4, nesterov: false }
  })
}

/** Floating-point operations of a training step, for one image. */
export function flopsPerImage(model: string, batch: number, precision: CasePrecision): number {
  const { segments } = trainingProgram(model, batch, precision)
  return SEGMENTS.flatMap((name) => segments[name]).reduce((sum, operator) => sum + operator.flops, 0) / batch
}
