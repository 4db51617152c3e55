import type { OptimiserAttributes } from '../compiler/optimiser.js'
import { rateFor, type Defaults } from './defaults.js'
import type { OptimiserName, OptimiserOptions } from './train-options.js'
import type { LearningRateSchedule } from '../schedules/rate-schedule.js'
import type { OptionChecks, OptionNames } from './option-checks.js'
import { rateSettings } from './rate.js'

export interface OptimiserSettings {
  readonly learningRate: LearningRateSchedule
  /** Each learner has its share of the rate: what all of them do is added up, and nobody has said at which rate. */
  readonly isShared?: true
  /** The optimiser itself, as programs have it. */
  readonly update: OptimiserAttributes
}

const NAMES: OptionNames<OptimiserOptions> = {
  name: true,
  learningRate: true,
  momentum: true,
  weightDecay: true,
  nesterov: true,
  beta1: true,
  beta2: true,
  epsilon: true,
  trustCoefficient: true,
  clipNorm: true,
  clipValue: true,
  accumulate: true,
  schedule: true,
  warmup: true,
  milestones: true,
  gamma: true
}

const OWN = {
  sgd: ['momentum', 'nesterov'],
  adam: ['beta1', 'beta2', 'epsilon'],
  adamw: ['beta1', 'beta2', 'epsilon'],
  lars: ['momentum', 'nesterov', 'trustCoefficient']
} as const satisfies Readonly<Record<OptimiserName, readonly (keyof OptimiserOptions)[]>>

/** What an optimiser depends on. */
export interface OptimiserContext {
  readonly defaults: Defaults
  /** Of a learner. */
  readonly batch: number
  /** Whether the rule is one whose learners have Nesterov's momentum; without it it would be another rule. */
  readonly nesterov: boolean
  /** Whether the rule adds all that its learners do to the central model. */
  readonly adds: boolean
}

export function optimiserSettings(
  checks: OptionChecks,
  given: OptimiserName | OptimiserOptions | undefined,
  { defaults, batch, nesterov, adds }: OptimiserContext
): OptimiserSettings {
  const options = typeof given === 'string' ? { name: given } : checks.group<OptimiserOptions>('optimiser', given, NAMES)
  const name = checks.name('optimiser.name', options.name ?? 'sgd', ['sgd', 'adam', 'adamw', 'lars'])
  const own: readonly string[] = OWN[name]
  for (const each of new Set(Object.values(OWN).flat()))
    if (options[each] !== undefined && !own.includes(each))
      checks.refuse(`optimiser.${each}`, options[each], `${name} has only ${own.join(', ')}`)
  if (nesterov && (name === 'adam' || name === 'adamw'))
    checks.refuse('optimiser.name', name, "use sgd or lars: learners of eamsgd have Nesterov's momentum; easgd takes any")
  if (nesterov && own.includes('nesterov') && options.nesterov === false)
    checks.refuse('optimiser.nesterov', false, "leave it out: learners of eamsgd have Nesterov's momentum; easgd takes any")
  const ofGradient = gradient(checks, options)
  const ownDefaults = usual(name, { ...defaults, learningRate: rateFor(defaults, batch * (ofGradient.accumulate ?? 1)) })
  const { weightDecay = ownDefaults.weightDecay } = options
  return {
    learningRate: rateSettings(checks, options, ownDefaults),
    ...(adds && options.learningRate === undefined && { isShared: true }),
    update: {
      ...(name === 'adam' || name === 'adamw' ? adam(checks, name, options) : descent(checks, name, options, defaults, nesterov)),
      ...ofGradient,
      weightDecay: checks.real('optimiser.weightDecay', weightDecay, 'of at least 0', (value) => value >= 0)
    }
  }
}

/** Adam's steps have the rate's own size whatever the gradient's is, and AdamW's decay is PyTorch's; LARS's are a share of the weights. */
function usual(name: OptimiserName, defaults: Defaults): Defaults {
  if (name === 'adam') return { ...defaults, learningRate: 1e-3, weightDecay: 0 }
  if (name === 'adamw') return { ...defaults, learningRate: 1e-3, weightDecay: 1e-2 }
  return name === 'lars' ? { ...defaults, learningRate: 100 * defaults.learningRate } : defaults
}

function adam(checks: OptionChecks, name: 'adam' | 'adamw', { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 }: Partial<OptimiserOptions>) {
  const share = (value: number) => value >= 0 && value < 1
  return {
    name,
    beta1: checks.real('optimiser.beta1', beta1, 'from 0 to below 1', share),
    beta2: checks.real('optimiser.beta2', beta2, 'from 0 to below 1', share),
    epsilon: checks.real('optimiser.epsilon', epsilon, 'above 0', (value) => value > 0)
  }
}

function descent(checks: OptionChecks, name: 'sgd' | 'lars', options: Partial<OptimiserOptions>, defaults: Defaults, byDefault: boolean) {
  const { momentum = defaults.momentum, trustCoefficient: trust = 0.001 } = options
  const nesterov = checks.truth('optimiser.nesterov', options.nesterov ?? byDefault)
  if (nesterov && momentum === 0) {
    if (byDefault) checks.refuse('optimiser.momentum', 0, "use one above 0: learners of eamsgd have Nesterov's momentum; easgd takes any")
    else checks.refuse('optimiser.nesterov', nesterov, 'it wants a momentum above 0')
  }
  return {
    name,
    momentum: checks.real('optimiser.momentum', momentum, 'from 0 to below 1', (value) => value >= 0 && value < 1),
    nesterov,
    ...(name === 'lars' && { trust: checks.real('optimiser.trustCoefficient', trust, 'above 0', (value) => value > 0) })
  }
}

function gradient(checks: OptionChecks, { clipNorm, clipValue, accumulate }: Partial<OptimiserOptions>) {
  const positive = (value: number) => value > 0
  return {
    ...(clipNorm !== undefined && { clipNorm: checks.real('optimiser.clipNorm', clipNorm, 'above 0', positive) }),
    ...(clipValue !== undefined && { clipValue: checks.real('optimiser.clipValue', clipValue, 'above 0', positive) }),
    ...(accumulate !== undefined && { accumulate: checks.whole('optimiser.accumulate', accumulate, 1, 1_000_000) })
  }
}
