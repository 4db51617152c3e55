import type { ExplainOptions, PredictOptions } from '../../options/explain.js'
import type { Explanation } from './explanation.js'
import type { Prediction } from './prediction.js'
import { refuseBundle } from '../../package-version.js'

/**
 * The operators of a model's training step, and their cost in arithmetic and memory. Compiles as `train` does, in turns with the event loop, but needs no data and takes
 * none of the memory.
 *
 * Throws INVALID_OPTION, UNKNOWN_NAME, INVALID_MODEL, SHAPE_MISMATCH, UNSUPPORTED_PRECISION, ENGINE_MISSING.
 */
export async function explain(options: ExplainOptions): Promise<Explanation> {
  refuseBundle()
  const { explainStep } = await import('./explain-step.js')
  return explainStep(options)
}

/**
 * How long a training step of a model takes on many machines, and which way to exchange is the fastest: from the arithmetic and the bytes of each operator, the
 * order in which backward finishes the gradients, and links that flows share fairly. GPUs that this machine does not have get the speed of a large one of today.
 *
 * Throws INVALID_OPTION, UNKNOWN_NAME, INVALID_MODEL, SHAPE_MISMATCH, UNSUPPORTED_PRECISION, ENGINE_MISSING.
 */
export async function predict(options: PredictOptions): Promise<Prediction> {
  refuseBundle()
  const { predictStep } = await import('./predict-step.js')
  return predictStep(options)
}
