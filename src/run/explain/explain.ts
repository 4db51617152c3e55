import type { ExplainOptions } from '../../options/explain.js'
import type { Explanation } from './explanation.js'
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
