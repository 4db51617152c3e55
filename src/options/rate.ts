import type { Defaults } from './defaults.js'
import type { OptimiserOptions, ScheduleName } from './train-options.js'
import type { LearningRateSchedule } from '../schedules/rate-schedule.js'
import type { Duration } from '../schedules/span.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

type Kind = LearningRateSchedule['kind']
type Of<K extends Kind> = Extract<LearningRateSchedule, { kind: K }>

const SCHEDULES: readonly [ScheduleName, ...ScheduleName[]] = [
  'constant',
  'step',
  'multistep',
  'exponential',
  'inverse',
  'cosine',
  'one-cycle'
]

/** What each kind has. */
const NAMES: { readonly [K in Kind]: OptionNames<Of<K>> } = {
  constant: { kind: true, learningRate: true },
  step: { kind: true, learningRate: true, period: true, gamma: true },
  multistep: { kind: true, learningRate: true, milestones: true, gamma: true },
  exponential: { kind: true, learningRate: true, gamma: true, period: true },
  inverse: { kind: true, learningRate: true, gamma: true, power: true, period: true },
  cosine: { kind: true, learningRate: true, finalLearningRate: true },
  'one-cycle': { kind: true, learningRate: true, initialLearningRate: true, finalLearningRate: true, risingFraction: true },
  warmup: { kind: true, duration: true, startFactor: true, schedule: true }
}

/** The learning rate over the run: a schedule as it was given, or the one that a number and a name stand for. */
export function rateSettings(checks: OptionChecks, options: Partial<OptimiserOptions>, defaults: Defaults): LearningRateSchedule {
  const { learningRate: rate = defaults.learningRate, schedule, milestones, gamma, warmup } = options
  const whole = typeof rate === 'number' ? named(checks, rate, options, defaults) : given(checks, 'optimiser.learningRate', rate)
  if (typeof rate !== 'number')
    for (const [name, value] of Object.entries({ schedule, milestones, gamma }))
      if (value !== undefined) checks.refuse(`optimiser.${name}`, value, 'leave it out: optimiser.learningRate is a schedule of its own')
  return warmup === undefined || warmup === 0
    ? whole
    : { kind: 'warmup', duration: span(checks, 'optimiser.warmup', warmup), schedule: whole }
}

function named(checks: OptionChecks, value: number, options: Partial<OptimiserOptions>, defaults: Defaults): LearningRateSchedule {
  const rate = positive(checks, 'optimiser.learningRate', value)
  // Who says where or how far the rate drops means that it does.
  const usual = options.milestones === undefined && options.gamma === undefined ? defaults.schedule : 'multistep'
  const kind = checks.name('optimiser.schedule', options.schedule ?? usual, SCHEDULES)
  const drops = kind === 'step' || kind === 'multistep'
  const gamma = checks.real('optimiser.gamma', options.gamma ?? defaults.gamma, 'above 0, at most 1', (each) => each > 0 && each <= 1)
  if (!drops && options.gamma !== undefined) checks.refuse('optimiser.gamma', options.gamma, `leave it out: ${kind} has no drops`)
  if (kind !== 'multistep' && options.milestones !== undefined)
    checks.refuse('optimiser.milestones', options.milestones, `leave them out: ${kind} has none`)
  switch (kind) {
    case 'multistep':
      return {
        kind,
        learningRate: rate,
        gamma,
        milestones: options.milestones ? epochs(checks, options.milestones) : shares(defaults.milestones)
      }
    case 'step':
      return { kind, learningRate: rate, gamma, period: { fraction: 1 / 3 } }
    case 'exponential':
      return { kind, learningRate: rate, gamma: 0.01, period: { fraction: 1 } }
    default:
      return { kind, learningRate: rate }
  }
}

const shares = (milestones: readonly number[]): Duration[] => milestones.map((share) => ({ fraction: share }))

function epochs(checks: OptionChecks, milestones: unknown): readonly number[] {
  const rising =
    Array.isArray(milestones) && milestones.every((at, i, all) => Number.isFinite(at) && at > (i === 0 ? 0 : (all[i - 1] as number)))
  if (rising) return milestones as readonly number[]
  checks.refuse('optimiser.milestones', milestones, 'use a list of epochs above 0, each later than the one before')
  return []
}

/** A schedule as plain data, every number of it checked. */
function given(checks: OptionChecks, path: string, value: LearningRateSchedule): LearningRateSchedule {
  const kinds = Object.keys(NAMES) as [Kind, ...Kind[]]
  if (typeof value !== 'object' || value === null || !kinds.includes(value.kind)) {
    checks.refuse(path, value, `use a number, or a schedule of kind ${kinds.join(', ')}`)
    return { kind: 'constant', learningRate: 1 }
  }
  checks.group<object>(path, value, NAMES[value.kind])
  if (value.kind === 'warmup') {
    span(checks, `${path}.duration`, value.duration)
    if (value.startFactor !== undefined)
      checks.real(`${path}.startFactor`, value.startFactor, 'from 0 to 1', (from) => from >= 0 && from <= 1)
    return { ...value, schedule: given(checks, `${path}.schedule`, value.schedule) }
  }
  positive(checks, `${path}.learningRate`, value.learningRate)
  if ('period' in value && value.period !== undefined) span(checks, `${path}.period`, value.period)
  else if (value.kind === 'step') checks.refuse(`${path}.period`, undefined, 'say after how many epochs')
  if (value.kind === 'multistep') points(checks, `${path}.milestones`, value.milestones)
  if (value.kind === 'exponential' || ('gamma' in value && value.gamma !== undefined)) {
    const most = value.kind === 'inverse' ? Infinity : 1
    checks.real(`${path}.gamma`, value.gamma, most === 1 ? 'above 0, at most 1' : 'above 0', (gamma) => gamma > 0 && gamma <= most)
  }
  if ('power' in value && value.power !== undefined) positive(checks, `${path}.power`, value.power)
  if ('initialLearningRate' in value && value.initialLearningRate !== undefined)
    atLeastNothing(checks, `${path}.initialLearningRate`, value.initialLearningRate)
  if ('finalLearningRate' in value && value.finalLearningRate !== undefined)
    atLeastNothing(checks, `${path}.finalLearningRate`, value.finalLearningRate)
  if ('risingFraction' in value && value.risingFraction !== undefined)
    checks.real(`${path}.risingFraction`, value.risingFraction, 'above 0 and below 1', (peak) => peak > 0 && peak < 1)
  return value
}

const positive = (checks: OptionChecks, path: string, value: unknown): number => checks.real(path, value, 'above 0', (each) => each > 0)

const atLeastNothing = (checks: OptionChecks, path: string, value: unknown): number =>
  checks.real(path, value, 'of at least 0', (each) => each >= 0)

/** In one unit, so that it can be seen that they rise. */
function points(checks: OptionChecks, path: string, value: unknown): void {
  if (!Array.isArray(value)) {
    checks.refuse(path, value, 'use a list of epochs')
    return
  }
  const spans = value.map((each, i) => span(checks, `${path}.${i}`, each as Duration))
  const units = new Set(spans.map((each) => (typeof each === 'number' ? 'epochs' : Object.keys(each)[0])))
  const lengths = spans.map((each) => (typeof each === 'number' ? each : (Object.values(each)[0] as number)))
  if (units.size > 1 || lengths.some((each, i) => i > 0 && each <= lengths[i - 1]!))
    checks.refuse(path, value, 'use points in one unit, each later than the one before')
}

function span(checks: OptionChecks, path: string, value: Duration): Duration {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : []
  const length: unknown = typeof value === 'number' ? value : keys.length === 1 ? (value as Record<string, unknown>)[keys[0]!] : undefined
  const unit = typeof value === 'number' || ['epochs', 'iterations', 'fraction'].includes(keys[0] ?? '')
  if (unit && typeof length === 'number' && length > 0 && length < Infinity) return value
  checks.refuse(path, value, 'use a number of epochs above 0, or one of { epochs }, { iterations } and { fraction }')
  return 1
}
