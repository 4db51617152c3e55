import type { Defaults } from './defaults.js'
import type { OptimiserOptions, ScheduleName } from './train-options.js'
import type { RateSchedule } from '../schedules/rate-schedule.js'
import type { Span } from '../schedules/span.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

type Kind = RateSchedule['kind']
type Of<K extends Kind> = Extract<RateSchedule, { kind: K }>

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
  constant: { kind: true, rate: true },
  step: { kind: true, rate: true, every: true, decay: true },
  multistep: { kind: true, rate: true, at: true, decay: true },
  exponential: { kind: true, rate: true, decay: true, every: true },
  inverse: { kind: true, rate: true, decay: true, power: true, every: true },
  cosine: { kind: true, rate: true, last: true },
  'one-cycle': { kind: true, rate: true, first: true, last: true, peak: true },
  warmup: { kind: true, over: true, from: true, then: true }
}

/** The learning rate over the run: a schedule as it was given, or the one that a number and a name stand for. */
export function rateSettings(checks: OptionChecks, options: Partial<OptimiserOptions>, defaults: Defaults): RateSchedule {
  const { rate = defaults.rate, schedule, milestones, decay, warmup } = options
  const whole = typeof rate === 'number' ? named(checks, rate, options, defaults) : given(checks, 'optimiser.rate', rate)
  if (typeof rate !== 'number')
    for (const [name, value] of Object.entries({ schedule, milestones, decay }))
      if (value !== undefined) checks.refuse(`optimiser.${name}`, value, 'leave it out: optimiser.rate is a schedule of its own')
  return warmup === undefined || warmup === 0 ? whole : { kind: 'warmup', over: span(checks, 'optimiser.warmup', warmup), then: whole }
}

function named(checks: OptionChecks, value: number, options: Partial<OptimiserOptions>, defaults: Defaults): RateSchedule {
  const rate = positive(checks, 'optimiser.rate', value)
  // Who says where or how far the rate drops means that it does.
  const usual = options.milestones === undefined && options.decay === undefined ? defaults.schedule : 'multistep'
  const kind = checks.name('optimiser.schedule', options.schedule ?? usual, SCHEDULES)
  const drops = kind === 'step' || kind === 'multistep'
  const decay = checks.real('optimiser.decay', options.decay ?? defaults.decay, 'above 0, at most 1', (each) => each > 0 && each <= 1)
  if (!drops && options.decay !== undefined) checks.refuse('optimiser.decay', options.decay, `leave it out: ${kind} has no drops`)
  if (kind !== 'multistep' && options.milestones !== undefined)
    checks.refuse('optimiser.milestones', options.milestones, `leave them out: ${kind} has none`)
  switch (kind) {
    case 'multistep':
      return { kind, rate, decay, at: options.milestones ? epochs(checks, options.milestones) : shares(defaults.milestones) }
    case 'step':
      return { kind, rate, decay, every: { share: 1 / 3 } }
    case 'exponential':
      return { kind, rate, decay: 0.01, every: { share: 1 } }
    default:
      return { kind, rate }
  }
}

const shares = (milestones: readonly number[]): Span[] => milestones.map((share) => ({ share }))

function epochs(checks: OptionChecks, milestones: unknown): readonly number[] {
  const rising =
    Array.isArray(milestones) && milestones.every((at, i, all) => Number.isFinite(at) && at > (i === 0 ? 0 : (all[i - 1] as number)))
  if (rising) return milestones as readonly number[]
  checks.refuse('optimiser.milestones', milestones, 'use a list of epochs above 0, each later than the one before')
  return []
}

/** A schedule as plain data, every number of it checked. */
function given(checks: OptionChecks, path: string, value: RateSchedule): RateSchedule {
  const kinds = Object.keys(NAMES) as [Kind, ...Kind[]]
  if (typeof value !== 'object' || value === null || !kinds.includes(value.kind)) {
    checks.refuse(path, value, `use a number, or a schedule of kind ${kinds.join(', ')}`)
    return { kind: 'constant', rate: 1 }
  }
  checks.group<object>(path, value, NAMES[value.kind])
  if (value.kind === 'warmup') {
    span(checks, `${path}.over`, value.over)
    if (value.from !== undefined) checks.real(`${path}.from`, value.from, 'from 0 to 1', (from) => from >= 0 && from <= 1)
    return { ...value, then: given(checks, `${path}.then`, value.then) }
  }
  positive(checks, `${path}.rate`, value.rate)
  if ('every' in value && value.every !== undefined) span(checks, `${path}.every`, value.every)
  else if (value.kind === 'step') checks.refuse(`${path}.every`, undefined, 'say after how many epochs')
  if (value.kind === 'multistep') points(checks, `${path}.at`, value.at)
  if (value.kind === 'exponential' || ('decay' in value && value.decay !== undefined)) {
    const most = value.kind === 'inverse' ? Infinity : 1
    checks.real(`${path}.decay`, value.decay, most === 1 ? 'above 0, at most 1' : 'above 0', (decay) => decay > 0 && decay <= most)
  }
  if ('power' in value && value.power !== undefined) positive(checks, `${path}.power`, value.power)
  if ('first' in value && value.first !== undefined) atLeastNothing(checks, `${path}.first`, value.first)
  if ('last' in value && value.last !== undefined) atLeastNothing(checks, `${path}.last`, value.last)
  if ('peak' in value && value.peak !== undefined)
    checks.real(`${path}.peak`, value.peak, 'above 0 and below 1', (peak) => peak > 0 && peak < 1)
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
  const spans = value.map((each, i) => span(checks, `${path}.${i}`, each as Span))
  const units = new Set(spans.map((each) => (typeof each === 'number' ? 'epochs' : Object.keys(each)[0])))
  const lengths = spans.map((each) => (typeof each === 'number' ? each : (Object.values(each)[0] as number)))
  if (units.size > 1 || lengths.some((each, i) => i > 0 && each <= lengths[i - 1]!))
    checks.refuse(path, value, 'use points in one unit, each later than the one before')
}

function span(checks: OptionChecks, path: string, value: Span): Span {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : []
  const length: unknown = typeof value === 'number' ? value : keys.length === 1 ? (value as Record<string, unknown>)[keys[0]!] : undefined
  const unit = typeof value === 'number' || ['epochs', 'iterations', 'share'].includes(keys[0] ?? '')
  if (unit && typeof length === 'number' && length > 0 && length < Infinity) return value
  checks.refuse(path, value, 'use a number of epochs above 0, or one of { epochs }, { iterations } and { share }')
  return 1
}
