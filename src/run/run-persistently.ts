import { ArbalestError } from '../errors.js'
import type { JobControl, JobOutcome } from './job.js'
import type { Settings } from '../options/settings.js'

/** Runs; where a loss is not finite, again from the newest checkpoint or from the start, with lower rates, as often as the settings allow. */
export async function runPersistently(
  settings: Settings,
  control: JobControl,
  run: (settings: Settings, control: JobControl) => Promise<JobOutcome>
): Promise<JobOutcome> {
  const { onNaN, checkpoint } = settings
  let { learningRateScale } = settings
  for (let back = 0; ; back++) {
    try {
      const again = { ...settings, learningRateScale, checkpoint: checkpoint && { ...checkpoint, goesBack: true } }
      return await (back === 0 ? run(settings, control) : run(again, withoutStart(control)))
    } catch (error) {
      const notFinite = error instanceof ArbalestError && error.code === 'LOSS_NOT_FINITE'
      if (!notFinite || !onNaN || back >= onNaN.retries || control.stop.aborted) throw error
      // A run that went on from a checkpoint may have had lower rates than those that it was given.
      const { iteration, learningRateScale: failed = learningRateScale } = error.data
      learningRateScale = Number(failed) * onNaN.learningRateFactor
      control.emit({ event: 'wentBack', iteration: Number(iteration), learningRateScale, retries: onNaN.retries - back - 1 })
    }
  }
}

/** A run has started once, however often it goes back. */
function withoutStart({ stop, emit }: JobControl): JobControl {
  return { stop, emit: (event) => (event.event === 'started' ? undefined : emit(event)) }
}
