import type { EvaluationAverage } from '../engine/contract.js'
import type { AverageOptions } from './train-options.js'
import type { OptionChecks } from './option-checks.js'

const OWN = { ema: ['decay'], swa: ['startEpoch', 'period'], lawa: ['window', 'period', 'startEpoch'] } as const

/** What is evaluated in the place of the central model; `startEpoch` and `period` are in epochs. */
export function averageSettings(
  checks: OptionChecks,
  given: AverageOptions['name'] | AverageOptions | undefined
): EvaluationAverage | undefined {
  if (given === undefined) return undefined
  const options = (typeof given === 'string' ? { name: given } : given) as Readonly<Record<string, unknown>>
  if (typeof options !== 'object' || options === null) {
    checks.refuse('average', given, 'give ema, swa or lawa, or an object with the name and its options')
    return undefined
  }
  const name = checks.name('average.name', options['name'], ['ema', 'swa', 'lawa'])
  if (name !== options['name']) return undefined
  const own: readonly string[] = OWN[name]
  for (const [each, value] of Object.entries(options))
    if (each !== 'name' && !own.includes(each)) checks.refuse(`average.${each}`, value, `${name} has only ${own.join(', ')}`)
  const { decay = 0.999, window = 6, startEpoch = 0, period = 1 } = options
  const when = {
    from: checks.real('average.startEpoch', startEpoch, 'of epochs of at least 0', (value) => value >= 0),
    // Every round's end comes later than a sample: that of an exponential average is taken at each.
    every: name === 'ema' ? 0 : checks.real('average.period', period, 'of epochs above 0', (value) => value > 0)
  }
  if (name === 'ema')
    return { kind: name, decay: checks.real('average.decay', decay, 'from 0 to below 1', (value) => value >= 0 && value < 1), ...when }
  if (name === 'swa') return { kind: name, ...when }
  return { kind: name, window: checks.whole('average.window', window, 1, 1000), ...when }
}

/** From epochs to samples handed out, of which there are so many in an epoch. */
export function averageOf(settings: EvaluationAverage | undefined, samples: number): EvaluationAverage | undefined {
  return settings && { ...settings, from: Math.round(settings.from * samples), every: Math.max(1, Math.round(settings.every * samples)) }
}
