import type { OptimiserAttributes } from '../compiler/optimiser.js'
import type { LearningRateSchedule } from '../schedules/learning-rates.js'
import type { Faults } from '../schema/faults.js'
import { jsonFromText } from '../schema/from-text.js'
import { group, option, orShort, required, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { either, list, oneOf, real, text, truth, whole } from '../schema/values.js'
import { learningRateFor, type Defaults } from './defaults.js'
import { learningRateOptions, scheduleSettings } from './learning-rate.js'

const DESCENT = ['sgd', 'lars'] as const
const ADAM = ['adam', 'adamw'] as const
const MEAN_SQUARE = [...ADAM, 'rmsprop'] as const

const names = oneOf(['sgd', 'adam', 'adamw', 'rmsprop', 'lars'])

/** A smaller one is 0 in a float, and a gradient of 0 then makes a step of 0 / 0. */
const LEAST_EPSILON = 1e-37

const parameterGroup = group({
  /** Names of parameters or layers, where `*` stands for any characters; or `vectors`: all parameters of one dimension, which are the biases and what normalisations scale and shift by. */
  parameters: required(
    either([oneOf(['vectors']), list(text('a name'), "'vectors', or a list of names of parameters or layers", { min: 1 })], (value) =>
      value === 'vectors' ? 0 : 1
    ),
    { also: ['params', 'layers', 'modules'] }
  ),
  /** The optimiser's if omitted. */
  weightDecay: option(real({ min: 0 }), { also: ['weight_decay'] }),
  /** The learning rate is so many times that of the run; 1 if omitted. */
  learningRate: option(
    group({ factor: required(real({ min: 0 })) }, {}, 'give { factor: 0.1 }: it is so many times the learning rate of the run'),
    { also: ['lr', 'rate'] }
  )
})

const optimiser = group({
  /** `sgd` if omitted. */
  name: option(names, {
    text: 'how learners step along their gradients: sgd, adam, adamw, rmsprop or lars',
    flag: '--optimiser <name>',
    default: 'sgd',
    common: true,
    chooses: true
  }),
  ...learningRateOptions,
  /** The learner's own momentum, of `sgd`, `lars` and `rmsprop`; 0.9 if omitted, and 0 for `rmsprop`. */
  momentum: option(real({ min: 0, below: 1 }), {
    text: "the learners' own momentum",
    flag: '--momentum <number>',
    otherwise: '0.9; of rmsprop 0',
    of: [...DESCENT, 'rmsprop']
  }),
  /** False if omitted; true under synchroniser `eamsgd`, which needs it. */
  nesterov: option(truth(), { text: "Nesterov's momentum", flag: '--nesterov', of: DESCENT }),
  /** The default suits the model; for `adam` and `rmsprop` it is 0, for `adamw` 0.01. */
  weightDecay: option(real({ min: 0 }), { text: 'weight decay', flag: '--weight-decay <number>', otherwise: 'depends on the model' }),
  /** 0.9 if omitted. */
  beta1: option(real({ min: 0, below: 1 }), { text: 'decay of the mean gradient', flag: '--beta1 <number>', otherwise: '0.9', of: ADAM }),
  /** 0.999 if omitted, and 0.99 for `rmsprop`, where PyTorch calls it `alpha`. */
  beta2: option(real({ min: 0, below: 1 }), {
    text: 'decay of the mean squared gradient',
    flag: '--beta2 <number>',
    otherwise: '0.999; of rmsprop 0.99',
    also: ['rho', 'alpha'],
    of: MEAN_SQUARE
  }),
  /** 1e-8 if omitted. */
  epsilon: option(real({ min: LEAST_EPSILON }), {
    text: 'added to the root of the mean squared gradient',
    flag: '--epsilon <number>',
    otherwise: '1e-8',
    also: ['eps'],
    of: MEAN_SQUARE
  }),
  /** The gradient of each parameter of more than one dimension is multiplied by trustCoefficient |w| / (|g| + weightDecay |w|); 0.001 if omitted. */
  trustCoefficient: option(real({ above: 0 }), {
    text: 'length of a step as a fraction of the weights',
    flag: '--trust-coefficient <number>',
    otherwise: '0.001',
    of: ['lars']
  }),
  /** The largest norm of the gradient of all parameters together. */
  clipNorm: option(real({ above: 0 }), {
    text: "the largest norm of a step's gradient",
    flag: '--clip-norm <number>',
    also: ['gradientClip', 'gradient_clip_val', 'global_clipnorm', 'maxGradNorm', 'max_grad_norm']
  }),
  /** The largest absolute value of an element of the gradient, after `clipNorm`. `lars` does not take it: the length of its steps does not depend on that of the gradient. */
  clipValue: option(real({ above: 0 }), {
    text: "the largest absolute value in a step's gradient",
    flag: '--clip-value <number>',
    of: ['sgd', ...MEAN_SQUARE]
  }),
  /** Parameters with a weight decay or a learning rate of their own; each belongs to the first group that names it. `[{ parameters: 'vectors', weightDecay: 0 }]` decays weights alone. */
  groups: option(list(parameterGroup, 'a list of groups of parameters'), {
    text: 'parameters with a weight decay or a learning rate of their own: [{ "parameters": "vectors", "weightDecay": 0 }]',
    flag: '--parameter-groups <json>',
    fromText: jsonFromText,
    also: ['paramGroups', 'param_groups', 'parameterGroups']
  }),
  /** Batches whose mean gradient makes one step: an iteration takes that many times the batch. */
  accumulate: option(whole({ min: 1, max: 1_000_000 }), {
    text: 'batches whose mean gradient makes one step',
    flag: '--accumulate <count>',
    otherwise: '1',
    also: ['accumulateGradBatches', 'accumulate_grad_batches', 'gradientAccumulationSteps', 'gradient_accumulation_steps']
  })
})

/**
 * How learners step along their gradients: SGD with momentum and weight decay by default. The formulas are PyTorch's. The defaults of `sgd` and `lars` suit
 * the model: momentum, weight decay, learning rate and its schedule. `adam` and `adamw` have PyTorch's defaults, and `rmsprop` too but for a learning rate of 0.001;
 * their schedule is the model's.
 */
export interface OptimiserOptions extends GivenOptions<typeof optimiser>, ToldByName {}

/** The optimisers, each by PyTorch's formula; `lars` as in You et al., 2017. */
export type OptimiserName = NonNullable<OptimiserOptions['name']>

/** The schedules that `optimiser.schedule` and `--lr-schedule` name. */
export type ScheduleName = NonNullable<OptimiserOptions['schedule']>

export const optimiserOptions = {
  optimiser: option<OptimiserName | OptimiserOptions, CheckedOptions<typeof optimiser>, OptimiserOptions>(
    orShort(names, optimiser, 'name'),
    { default: {} }
  )
}

export interface OptimiserSettings {
  readonly learningRate: LearningRateSchedule
  /** The learners divide the learning rate among them, because the rule adds up their updates and the learning rate is a default. */
  readonly isShared?: true
  /** The optimiser as programs have it. */
  readonly update: OptimiserAttributes
}

/** What the optimiser's defaults depend on. */
export interface OptimiserContext {
  readonly defaults: Defaults
  readonly batch: number
  /** Whether the rule's learners have Nesterov's momentum. */
  readonly nesterov: boolean
  /** Whether the rule adds up its learners' updates. */
  readonly adds: boolean
}

export function optimiserSettings(
  faults: Faults,
  options: CheckedOptions<typeof optimiser>,
  { defaults, batch, nesterov, adds }: OptimiserContext
): OptimiserSettings {
  const { name, clipNorm, clipValue, accumulate, groups, learningRate } = options
  refuseForeign(faults, options)
  if (nesterov) refuseWithoutNesterov(faults, options)
  const usual = usualFor(name, { ...defaults, learningRate: learningRateFor(defaults, batch * (accumulate ?? 1)) })
  return {
    learningRate: scheduleSettings(faults, options, usual),
    ...(adds && learningRate === undefined && { isShared: true }),
    update: {
      ...stepOf(faults, name, options, { defaults, nesterov }),
      ...(clipNorm !== undefined && { clipNorm }),
      ...(clipValue !== undefined && { clipValue }),
      ...(accumulate !== undefined && { accumulate }),
      ...(groups !== undefined && { groups }),
      weightDecay: options.weightDecay ?? usual.weightDecay
    }
  }
}

/** Whether a step needs the norm of the whole gradient. */
export function needsNorm({ update }: OptimiserSettings): boolean {
  return update.name === 'lars' || update.clipNorm !== undefined
}

/** Refuses the options of other optimisers. */
function refuseForeign(faults: Faults, options: CheckedOptions<typeof optimiser>): void {
  const own = Object.entries(optimiser.entries).filter(([, { about }]) => about.of?.includes(options.name))
  for (const [each, { about }] of Object.entries(optimiser.entries)) {
    const { [each as keyof typeof options]: value } = options
    if (value !== undefined && about.of && !about.of.includes(options.name))
      faults.refuse(`optimiser.${each}`, value, `${options.name} has only ${own.map(([known]) => known).join(', ')}`)
  }
}

function refuseWithoutNesterov(faults: Faults, { name, nesterov }: CheckedOptions<typeof optimiser>): void {
  const why = "learners of eamsgd have Nesterov's momentum; easgd takes any"
  if (name !== 'sgd' && name !== 'lars') faults.refuse('optimiser.name', name, `use sgd or lars: ${why}`)
  else if (nesterov === false) faults.refuse('optimiser.nesterov', false, `leave it out: ${why}`)
}

/** A step of Adam or RMSprop has the size of the learning rate whatever the gradient's is, and AdamW's decay is PyTorch's; a step of LARS is a fraction of the weights. */
function usualFor(name: OptimiserName, defaults: Defaults): Defaults {
  if (name === 'adam' || name === 'rmsprop') return { ...defaults, learningRate: 1e-3, weightDecay: 0 }
  if (name === 'adamw') return { ...defaults, learningRate: 1e-3, weightDecay: 1e-2 }
  return name === 'lars' ? { ...defaults, learningRate: 100 * defaults.learningRate } : defaults
}

function stepOf(
  faults: Faults,
  name: OptimiserName,
  options: CheckedOptions<typeof optimiser>,
  { defaults, nesterov }: Pick<OptimiserContext, 'defaults' | 'nesterov'>
): OptimiserAttributes {
  if (name === 'sgd' || name === 'lars') return descent(faults, name, options, defaults, nesterov)
  const { epsilon = 1e-8 } = options
  if (name === 'rmsprop') return { name, beta2: options.beta2 ?? 0.99, epsilon, momentum: options.momentum ?? 0 }
  return { name, beta1: options.beta1 ?? 0.9, beta2: options.beta2 ?? 0.999, epsilon }
}

function descent(faults: Faults, name: 'sgd' | 'lars', options: CheckedOptions<typeof optimiser>, defaults: Defaults, byDefault: boolean) {
  const { momentum = defaults.momentum, nesterov = byDefault, trustCoefficient: trust = 0.001 } = options
  if (nesterov && momentum === 0) {
    if (byDefault) faults.refuse('optimiser.momentum', 0, "use one above 0: learners of eamsgd have Nesterov's momentum; easgd takes any")
    else faults.refuse('optimiser.nesterov', nesterov, 'use it with a momentum above 0')
  }
  return { name, momentum, nesterov, ...(name === 'lars' && { trust }) }
}
