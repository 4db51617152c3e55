import type { RecordSettings } from '../observe/open-sinks.js'
import type { TrainOptions } from './train-options.js'
import type { OptionChecks } from './option-checks.js'

export function recordSettings(checks: OptionChecks, options: Pick<Partial<TrainOptions>, keyof RecordSettings>): RecordSettings {
  const { log, logDir, tensorboard } = options
  for (const [path, value] of Object.entries({ log, logDir, tensorboard }))
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      checks.refuse(path, value, path === 'log' ? 'give the path of a file' : 'give the path of a folder')
  return { log, logDir, tensorboard }
}
