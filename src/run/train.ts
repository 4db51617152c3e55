import { isFirstProcess } from '../hosts/tenants.js'
import { runEvent } from '../observe/run-event.js'
import { builtin } from '../node.js'
import { Job, type JobControl, type JobOutcome, type WatchJob } from './job.js'
import type { TrainOptions } from '../options/train-options.js'
import { BUILT_IN_LEARNER, titleOf, type RunModules } from './run-modules.js'
import { settingsOf, type Settings } from '../options/settings.js'
import { refuseBundle } from '../package-version.js'

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
export function trainWith(options: TrainOptions, modules: Partial<RunModules>, watchWith?: WatchWith): Job {
  const settings = settingsOf(options)
  const chosen = { ...MODULES, ...(settings.learner && { learner: settings.learner }), ...modules }
  const name = newRunName()
  const watch = inTurn([watchWith?.(settings, name), watchOf(settings, name)])
  return new Job((control) => runLater(settings, chosen, control, name), { signal: options.signal, learners: settings.learners, watch })
}

/** Most of this package's modules are needed for a run alone: a program that only imports it starts without them. */
async function runLater(settings: Settings, modules: RunModules, control: JobControl, name: string): Promise<JobOutcome> {
  refuseBundle()
  const { run } = await import('./run.js')
  return run(settings, modules, control, name)
}

/** How a job is watched together with others; `name` is that of its run. */
export type WatchWith = (settings: Settings, name: string) => WatchJob

/** The first of these has the page, if there is one. */
function inTurn(given: readonly (WatchJob | undefined)[]): WatchJob | undefined {
  const [first, ...others] = given.filter((watch) => watch !== undefined)
  if (!first) return undefined
  return async (job) => {
    const opened = await first(job)
    for (const watch of others) await watch(job)
    return opened
  }
}

/** A page and a port for Prometheus of this job alone, if it shall have them. Of processes that train together the first one has them. */
function watchOf(settings: Settings, name: string): WatchJob | undefined {
  const { dashboard = false, metricsPort, devices } = settings
  if (dashboard === false && metricsPort === undefined) return undefined
  if (devices.hosts !== 'none' && !isFirstProcess()) return undefined
  return async (job) => {
    const { JobsWatch } = await import('../dashboard/jobs-watch.js')
    const watch = await JobsWatch.open({ dashboard, metricsPort })
    watch.add(job, { id: name, name: titleOf(settings) }, runEvent(settings))
    return watch
  }
}

/** The name of a run in logs, pages and metrics. Names sort by time, and two runs of the same second differ: 20260131-235959-1f3a. */
function newRunName(now = new Date()): string {
  const digits = now.toISOString().replaceAll(/[-:]/g, '')
  return `${digits.slice(0, 8)}-${digits.slice(9, 15)}-${builtin.crypto().randomBytes(2).toString('hex')}`
}
