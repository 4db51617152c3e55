import type { TraceOptions, TrainOptions } from '../options.js'
import type { TraceSettings } from '../trace.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

const NAMES: OptionNames<TraceOptions> = { file: true, steps: true }

export function traceSettings(checks: OptionChecks, given: TrainOptions['trace']): TraceSettings | undefined {
  if (given === undefined) return undefined
  const path = typeof given === 'string' ? 'trace' : 'trace.file'
  const { file, steps = 0 } = typeof given === 'string' ? { file: given } : checks.group('trace', given, NAMES)
  if (typeof file !== 'string' || file === '') checks.refuse(path, file, 'give the path of a file to write')
  return { file: String(file), steps: checks.whole('trace.steps', steps, 0) }
}
