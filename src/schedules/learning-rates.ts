import * as v from 'valibot'
import { group, option, required, type GivenOptions, type ToldByName } from '../schema/group.js'
import { either, kind, list, real, type Schema } from '../schema/values.js'
import { duration, isRising, type Duration } from './duration.js'

const learningRate = () => required(real({ above: 0 }))
const gamma = () => real({ above: 0, max: 1 })
const rising = v.pipe(
  list(duration, 'a list of durations'),
  v.check(isRising, 'use durations in one unit, each longer than the one before')
)

const constantOptions = group({ kind: required(v.literal('constant')), learningRate: learningRate() })

const stepOptions = group({
  kind: required(v.literal('step')),
  learningRate: learningRate(),
  period: required(duration),
  /** 0.1 if omitted. */
  gamma: option(gamma())
})

const multistepOptions = group({
  kind: required(v.literal('multistep')),
  learningRate: learningRate(),
  /** Durations from the run's start. */
  milestones: required(rising),
  /** 0.1 if omitted. */
  gamma: option(gamma())
})

const exponentialOptions = group({
  kind: required(v.literal('exponential')),
  learningRate: learningRate(),
  gamma: required(gamma()),
  /** 1 epoch if omitted. */
  period: option(duration)
})

const inverseOptions = group({
  kind: required(v.literal('inverse')),
  learningRate: learningRate(),
  /** 1 if omitted. */
  gamma: option(real({ above: 0 })),
  /** 1 if omitted. */
  power: option(real({ above: 0 })),
  /** 1 epoch if omitted. */
  period: option(duration)
})

const cosineOptions = group({
  kind: required(v.literal('cosine')),
  learningRate: learningRate(),
  /** 0 if omitted. */
  finalLearningRate: option(real({ min: 0 }))
})

const oneCycleOptions = group({
  kind: required(v.literal('one-cycle')),
  /** The highest. */
  learningRate: learningRate(),
  /** learningRate / 25 if omitted. */
  initialLearningRate: option(real({ min: 0 })),
  /** initialLearningRate / 10000 if omitted. */
  finalLearningRate: option(real({ min: 0 })),
  /** The fraction of the run in which the learning rate rises; 0.3 if omitted. */
  risingFraction: option(real({ above: 0, below: 1 }))
})

const warmupOptions = group({
  kind: required(v.literal('warmup')),
  duration: required(duration),
  startFactor: option(real({ min: 0, max: 1 })),
  schedule: required(v.lazy((value): Schema<LearningRateSchedule> => scheduleFor(value) ?? NO_SCHEDULE))
})

/** The same learning rate in every step. */
export interface ConstantSchedule extends GivenOptions<typeof constantOptions>, ToldByName {}

/** The learning rate is multiplied by `gamma` after each `period`. */
export interface StepSchedule extends GivenOptions<typeof stepOptions>, ToldByName {}

/** The learning rate is multiplied by `gamma` at each milestone. */
export interface MultistepSchedule extends GivenOptions<typeof multistepOptions>, ToldByName {}

/** learningRate * gamma^t, where t counts periods; it changes in every step. */
export interface ExponentialSchedule extends GivenOptions<typeof exponentialOptions>, ToldByName {}

/** learningRate / (1 + gamma t)^power, where t counts periods; it changes in every step. */
export interface InverseSchedule extends GivenOptions<typeof inverseOptions>, ToldByName {}

/** From `learningRate` to `finalLearningRate` along half a cosine over the whole run (Loshchilov and Hutter, ICLR 2017, without restarts). */
export interface CosineSchedule extends GivenOptions<typeof cosineOptions>, ToldByName {}

/**
 * From `initialLearningRate` up to `learningRate` and down to `finalLearningRate` over the whole run, along cosines (Smith and Topin, 2018).
 * The defaults are those of PyTorch.
 */
export interface OneCycleSchedule extends GivenOptions<typeof oneCycleOptions>, ToldByName {}

/**
 * Multiplies the learning rates of `schedule` by a factor that rises linearly from `startFactor` (0) to 1 in `duration` (Goyal et al., 2017).
 * `schedule` counts from the run's start: its milestones stay where they are.
 */
export interface WarmupSchedule {
  readonly kind: 'warmup'
  readonly duration: Duration
  readonly startFactor?: number
  readonly schedule: LearningRateSchedule
}

/** A learning rate over a run, as plain data; `constant`, `step`, `multistep`, `exponential`, `inverse`, `cosine`, `oneCycle`, `warmup` make it. */
export type LearningRateSchedule =
  | ConstantSchedule
  | StepSchedule
  | MultistepSchedule
  | ExponentialSchedule
  | InverseSchedule
  | CosineSchedule
  | OneCycleSchedule
  | WarmupSchedule

/** The schedules that need no more than a learning rate, by the name that `optimiser.schedule` gives them. */
export const scheduleNames = ['constant', 'step', 'multistep', 'exponential', 'inverse', 'cosine', 'one-cycle'] as const

const SCHEDULES = [
  constantOptions,
  stepOptions,
  multistepOptions,
  exponentialOptions,
  inverseOptions,
  cosineOptions,
  oneCycleOptions,
  warmupOptions
] as readonly Schema<LearningRateSchedule>[]
const A_SCHEDULE = `a schedule of kind ${scheduleNames.join(', ')}, warmup`
const NO_SCHEDULE: Schema<LearningRateSchedule> = kind(() => false, `${A_SCHEDULE}: constant({ learningRate: 0.1 }) for a number`)
const NEITHER: Schema<LearningRateSchedule> = kind(() => false, `a number, or ${A_SCHEDULE}`)

/** Warm-ups of warm-ups. One that holds itself has no end. */
const MOST_NESTED = 100

function isEndless(value: unknown): boolean {
  let inner = value
  for (let depth = 0; depth < MOST_NESTED && inner !== undefined; depth++)
    inner = (Object(inner) as { readonly schedule?: unknown }).schedule
  return inner !== undefined
}

/** Which of the schedules a value is meant to be; undefined for none. */
function scheduleFor(value: unknown): Schema<LearningRateSchedule> | undefined {
  if (isEndless(value)) return undefined
  const { kind: given } = Object(value) as { readonly kind?: unknown }
  return SCHEDULES[[...scheduleNames, 'warmup'].indexOf(given as string)]
}

const learningRateSchedule: Schema<LearningRateSchedule> = v.lazy((value): Schema<LearningRateSchedule> => scheduleFor(value) ?? NEITHER)

/** A number, or a schedule. */
export const learningRateOrSchedule = either([real({ above: 0 }), learningRateSchedule], (value) => (typeof value === 'number' ? 0 : 1))

/** The same learning rate in every step. */
export function constant(options: Omit<ConstantSchedule, 'kind'>): ConstantSchedule {
  return { kind: 'constant', ...options }
}

/** `step({ learningRate: 0.1, period: 30 })`: a tenth of the learning rate after each 30 epochs. */
export function step(options: Omit<StepSchedule, 'kind'>): StepSchedule {
  return { kind: 'step', ...options }
}

/** `multistep({ learningRate: 0.1, milestones: [80, 120] })`: 0.01 from epoch 80 on, 0.001 from epoch 120 on. */
export function multistep(options: Omit<MultistepSchedule, 'kind'>): MultistepSchedule {
  return { kind: 'multistep', ...options }
}

/** `exponential({ learningRate: 0.1, gamma: 0.95 })`: 5% less each epoch. */
export function exponential(options: Omit<ExponentialSchedule, 'kind'>): ExponentialSchedule {
  return { kind: 'exponential', ...options }
}

/** `inverse({ learningRate: 0.01, gamma: 1e-4, power: 0.75, period: { iterations: 1 } })`: the schedule by which Caffe trains LeNet. */
export function inverse(options: Omit<InverseSchedule, 'kind'>): InverseSchedule {
  return { kind: 'inverse', ...options }
}

/** A learning rate that falls to `finalLearningRate` (0) along half a cosine over the whole run. */
export function cosine(options: Omit<CosineSchedule, 'kind'>): CosineSchedule {
  return { kind: 'cosine', ...options }
}

/** A learning rate that rises to `learningRate` and falls again over the whole run, along cosines. */
export function oneCycle(options: Omit<OneCycleSchedule, 'kind'>): OneCycleSchedule {
  return { kind: 'one-cycle', ...options }
}

/** `warmup(5, cosine({ learningRate: 0.1 }))`: five epochs of warm-up. */
export function warmup(
  during: Duration,
  schedule: LearningRateSchedule,
  options: Pick<WarmupSchedule, 'startFactor'> = {}
): WarmupSchedule {
  return { kind: 'warmup', duration: during, schedule, ...options }
}
