import { Job } from './job.js'
import type { TrainOptions } from '../options/train-options.js'
import { run, type RunModules } from './run.js'
import { settingsOf } from '../options/settings.js'

const MODULES: RunModules = {
  engine: new URL('../engine/native.js', import.meta.url),
  learner: new URL('../actors/built-in-learner.js', import.meta.url)
}

/**
 * Trains a model with many learners that are kept together by synchronous model averaging. The work begins at once, in threads of its
 * own; the Job tells how it goes.
 *
 * ```ts
 * const job = train({ model: 'lenet', data: 'digits', learners: 2, until: { epochs: 2 } })
 * for await (const event of job) console.log(event)
 * ```
 *
 * Throws INVALID_OPTION and UNKNOWN_NAME for options that cannot work, all their faults at once, before anything is begun. What goes wrong later rejects
 * `job.finished`: DATA_NOT_FOUND, DATA_CORRUPT, LABEL_OUT_OF_RANGE, SHAPE_MISMATCH, INVALID_MODEL, UNSUPPORTED_PRECISION,
 * OUT_OF_MEMORY, LOSS_NOT_FINITE, LEARNER_FAILED, ENGINE_MISSING.
 */
export function train(options: TrainOptions): Job {
  return trainWith(options, {})
}

/** The same with other modules in the place of the engine's and the learner's. */
export function trainWith(options: TrainOptions, modules: Partial<RunModules>): Job {
  const settings = settingsOf(options)
  const chosen = { ...MODULES, ...(settings.learner && { learner: settings.learner }), ...modules }
  return new Job((control) => run(settings, chosen, control), { signal: options.signal })
}
