import { ArbalestError } from '../errors.js'
import type { Settings } from '../options/settings.js'
import { isMembershipChange, type Intervention } from '../schedules/interventions.js'
import { withWayOn } from './diverged.js'
import type { JobControl, JobOutcome } from './job.js'

/**
 * Runs; if the loss is not finite, runs again with lower rates, from the newest checkpoint or from the start, as often as `onNaN` allows.
 */
export async function runWithRetries(
  settings: Settings,
  control: JobControl,
  run: (settings: Settings, control: JobControl, keep: (all: readonly Intervention[]) => void) => Promise<JobOutcome>
): Promise<JobOutcome> {
  const { onNaN, checkpoint } = settings
  let { learningRateScale, interventions } = settings
  for (let retries = 0; ; retries++) {
    try {
      const again = { ...settings, learningRateScale, interventions, checkpoint: checkpoint && { ...checkpoint, goesBack: true } }
      // What programs have changed of this run, the next one changes again; the learners that died live again.
      const keep = (all: readonly Intervention[]) => (interventions = all.filter((each) => !isMembershipChange(each)))
      return await (retries === 0 ? run(settings, control, keep) : run(again, withoutStarted(control), keep))
    } catch (error) {
      const diverged = error instanceof ArbalestError && error.code === 'LOSS_NOT_FINITE'
      if (!diverged) throw error
      if (!onNaN || retries >= onNaN.retries || control.stop.aborted) throw await withWayOn(error, settings)
      // A run that went on from a checkpoint may have had a lower scale than its settings say.
      const { iteration, learningRateScale: failed = learningRateScale } = error.data
      learningRateScale = Number(failed) * onNaN.learningRateFactor
      control.emit({ event: 'wentBack', iteration: Number(iteration), learningRateScale, retries: onNaN.retries - retries - 1 })
    }
  }
}

/** A job emits `started`, and warnings before it, once only. */
function withoutStarted({ emit, ...control }: JobControl): JobControl {
  return { ...control, emit: (event) => (event.event === 'started' || event.event === 'warning' ? undefined : emit(event)) }
}
