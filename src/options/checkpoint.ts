import type { CheckpointOptions } from './train-options.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

const NAMES: OptionNames<CheckpointOptions> = { dir: true, period: true, keep: true, resume: true }

export interface CheckpointSettings {
  readonly dir: string
  /** Iterations; Infinity: whenever the central model is measured. */
  readonly period: number
  readonly keep: number
  readonly resume: string
  /** The run has met a loss that was no number, and goes back to what it has written last, or else to where it began. */
  readonly goesBack?: boolean
}

/** undefined: no checkpoints. */
export function checkpointSettings(checks: OptionChecks, given: string | CheckpointOptions | undefined): CheckpointSettings | undefined {
  if (given === undefined) return undefined
  const { dir, period, keep = 3, resume = 'auto' } = checks.group('checkpoint', typeof given === 'string' ? { dir: given } : given, NAMES)
  if (typeof dir !== 'string' || dir === '') checks.refuse('checkpoint.dir', dir, 'give the path of a folder')
  if (typeof resume !== 'string' || resume === '')
    checks.refuse('checkpoint.resume', resume, "use 'auto', 'never' or the path of a checkpoint")
  return {
    dir: String(dir),
    period: period === undefined ? Infinity : checks.whole('checkpoint.period', period, 1),
    keep: checks.whole('checkpoint.keep', keep, 1),
    resume: String(resume)
  }
}
