import { ArbalestError } from '../errors.js'
import type { JobControl, JobOutcome } from './job.js'
import type { Settings } from './settings.js'

/** Runs; where a loss is not finite, again from the newest checkpoint or from the start, with lower rates, as often as the settings allow. */
export async function runPersistently(
  settings: Settings,
  control: JobControl,
  run: (settings: Settings, control: JobControl) => Promise<JobOutcome>
): Promise<JobOutcome> {
  const { onNaN } = settings
  for (let back = 0; ; back++) {
    try {
      return await run(attempt(settings, back), back === 0 ? control : withoutStart(control))
    } catch (error) {
      const notFinite = error instanceof ArbalestError && error.code === 'LOSS_NOT_FINITE'
      if (!notFinite || !onNaN || back >= onNaN.retries || control.stop.aborted) throw error
      const { rateScale } = attempt(settings, back + 1)
      control.emit({ event: 'wentBack', iteration: Number(error.data['iteration']), rateScale, retries: onNaN.retries - back - 1 })
    }
  }
}

/** A run has started once, however often it goes back. */
function withoutStart({ stop, emit }: JobControl): JobControl {
  return { stop, emit: (event) => (event.event === 'started' ? undefined : emit(event)) }
}

function attempt(settings: Settings, back: number): Settings {
  const { onNaN, checkpoint } = settings
  if (back === 0 || !onNaN) return settings
  return { ...settings, rateScale: onNaN.rate ** back, checkpoint: checkpoint && { ...checkpoint, resume: 'auto' } }
}
