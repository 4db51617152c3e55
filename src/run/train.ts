import { Job } from './job.js'
import type { TrainOptions } from '../options/train-options.js'
import { BUILT_IN_LEARNER, run, type RunModules } from './run.js'
import { settingsOf } from '../options/settings.js'

const MODULES: RunModules = {
  engine: new URL('../engine/native.js', import.meta.url),
  learner: BUILT_IN_LEARNER
}

/**
 * Trains a model with many learners, which a synchroniser keeps together: by default by synchronous model averaging. Training begins at once, in threads
 * of its own. The Job emits its events.
 *
 * ```ts
 * const job = train({ model: 'lenet', data: 'digits', learners: 2, until: { epochs: 2 } })
 * for await (const event of job) console.log(event)
 * ```
 *
 * Throws INVALID_OPTION and UNKNOWN_NAME for wrong options, all faults at once, before the run begins. Later errors reject `job.finished`:
 * DATA_NOT_FOUND, DATA_CORRUPT, LABEL_OUT_OF_RANGE, SHAPE_MISMATCH, INVALID_MODEL, UNSUPPORTED_PRECISION, OUT_OF_MEMORY, LOSS_NOT_FINITE,
 * LEARNER_FAILED, ENGINE_MISSING.
 */
export function train(options: TrainOptions): Job {
  return trainWith(options, {})
}

/** As `train`, with other modules for the engine or the learner. */
export function trainWith(options: TrainOptions, modules: Partial<RunModules>): Job {
  const settings = settingsOf(options)
  const chosen = { ...MODULES, ...(settings.learner && { learner: settings.learner }), ...modules }
  return new Job((control) => run(settings, chosen, control), { signal: options.signal, learners: settings.learners })
}
