import * as v from 'valibot'
import type { EvaluationAverage } from '../engine/contract.js'
import { group, option, orShort, required, variants, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { oneOf, real, whole } from '../schema/values.js'

const NAME = {
  text: 'an average of the central model that is evaluated in its place: ema, swa or lawa',
  flag: '--average <name>',
  takes: 'ema, swa, lawa',
  chooses: true
} as const
const startEpoch = () =>
  option(real({ min: 0, unit: 'epochs' }), {
    text: 'epoch from which on models are averaged',
    flag: '--average-start-epoch <epoch>',
    default: 0
  })
const period = () =>
  option(real({ above: 0, unit: 'epochs' }), {
    text: 'epochs from one averaged model to the next',
    flag: '--average-period <epochs>',
    default: 1
  })

const ema = group({
  name: required(v.literal('ema'), NAME),
  /** 0.999 if omitted. */
  decay: option(real({ min: 0, below: 1 }), {
    text: 'factor of the weight of a model, each round',
    flag: '--average-decay <number>',
    default: 0.999
  })
})

const swa = group({
  name: required(v.literal('swa'), NAME),
  /** The epoch from which on models are averaged; 0 if omitted. */
  startEpoch: startEpoch(),
  /** Epochs from one averaged model to the next; 1 if omitted. */
  period: period()
})

const lawa = group({
  name: required(v.literal('lawa'), NAME),
  /** How many of the latest models are averaged; 6 if omitted. */
  window: option(whole({ min: 1, max: 1000 }), {
    text: 'how many of the latest models are averaged',
    flag: '--average-window <count>',
    default: 6
  }),
  /** The epoch from which on models are averaged; 0 if omitted. */
  startEpoch: startEpoch(),
  /** Epochs from one averaged model to the next; 1 if omitted. */
  period: period()
})

/** The mean of the central models of all rounds, each weighted by `decay` to the power of its age in rounds. */
export interface EmaOptions extends GivenOptions<typeof ema>, ToldByName {}

/** The mean of the central models after every `period` epochs from `startEpoch` on. */
export interface SwaOptions extends GivenOptions<typeof swa>, ToldByName {}

/** The mean of the last `window` central models of those that `swa` would average. */
export interface LawaOptions extends GivenOptions<typeof lawa>, ToldByName {}

/** An average of the central model that is evaluated, saved and exported in its place; it takes no part in training. */
export type AverageOptions = EmaOptions | SwaOptions | LawaOptions

const average = orShort(oneOf(['ema', 'swa', 'lawa']), variants('name', { ema, swa, lawa }), 'name')

export const averageOptions = {
  /** The average that is evaluated, saved and exported in the place of the central model. */
  average: option<AverageOptions['name'] | AverageOptions, CheckedOptions<typeof average>>(average, { also: ['ema', 'swa'] })
}

/** The average that is evaluated; `from` and `every` are in epochs. */
export function averageSettings(options: CheckedOptions<typeof average> | undefined): EvaluationAverage | undefined {
  if (options === undefined) return undefined
  // `every: 0` becomes one sample, and each round trains at least that many: the average is taken after every round.
  if (options.name === 'ema') return { kind: 'ema', decay: options.decay, from: 0, every: 0 }
  const { name: kind, startEpoch: from, period: every } = options
  return kind === 'swa' ? { kind, from, every } : { kind, window: options.window, from, every }
}

/** From epochs to samples, which need not be whole: rounded ones would drift away from the epochs. */
export function averageInSamples(settings: EvaluationAverage | undefined, epoch: number): EvaluationAverage | undefined {
  return settings && { ...settings, from: settings.from * epoch, every: Math.max(1, settings.every * epoch) }
}
