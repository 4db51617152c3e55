import type { TraceOptions, TrainOptions } from './train-options.js'
import type { TraceSettings } from '../observe/trace.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

/** Enough to see what a step consists of; the calls of many steps that follow are as fast as without a trace. */
const STEPS = 20

const NAMES: OptionNames<TraceOptions> = { file: true, steps: true }

export function traceSettings(checks: OptionChecks, given: TrainOptions['trace']): TraceSettings | undefined {
  if (given === undefined) return undefined
  const path = typeof given === 'string' ? 'trace' : 'trace.file'
  const { file, steps = STEPS } = typeof given === 'string' ? { file: given } : checks.group('trace', given, NAMES)
  if (typeof file !== 'string' || file === '') checks.refuse(path, file, 'give the path of a file to write')
  return { file: String(file), steps: checks.whole('trace.steps', steps, 0) }
}
