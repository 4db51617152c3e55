import * as v from 'valibot'
import { usableCores } from '../engine/machine.js'
import { MOST_LEARNERS, populationSchedule, type PopulationSchedule } from '../schedules/population.js'
import type { Faults } from '../schema/faults.js'
import { group, option, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { fileFromText, jsonFromText, wholeFromText, type FromText } from '../schema/from-text.js'
import { either, kind, postingFault, real, whole } from '../schema/values.js'
import type { DeviceSettings } from './devices.js'
import { moduleUrl } from './module-url.js'
import { supervisionOptions } from './supervision.js'

const count = whole({ min: 1, max: MOST_LEARNERS })

/** Another learner is kept if it raises throughput by more than this fraction. */
export const THRESHOLD = 0.04

/** More learners than cores keep the cores busy while others wait; more than three for each core do not help. */
export const MOST_PER_CORE = 3

const population = group({
  /** The number of learners at first; that of the cores if omitted. The number that is found does not depend on it. */
  initial: option(count, { text: 'number of learners at first', otherwise: 'one for each core' }),
  /** The largest number of learners; three for each core if omitted, and never more than memory holds. */
  max: option(count, { text: 'the largest number of learners', otherwise: 'three for each core' }),
  /** The gain in throughput, as a fraction, above which another learner is kept; 0.04 if omitted. */
  threshold: option(real({ above: 0, below: 1 }), { text: 'gain in throughput above which another learner is kept', otherwise: '0.04' }),
  /** Seconds of training in a measuring window; 0.5 if omitted. */
  window: option(real({ above: 0, unit: 'seconds' }), { text: 'seconds of a measuring window', otherwise: '0.5' }),
  /** Instead of all others: the `population` of a finished run, which is repeated bit for bit. */
  schedule: option(populationSchedule, { text: 'the population of a finished run, to repeat it' })
})

/** How the number of learners is found, or what it is round by round. */
export interface LearnersOptions extends GivenOptions<typeof population>, ToldByName {}

const auto = kind<'auto'>((value) => value === 'auto', "'auto', a whole number, or an object with a schedule or with bounds")

const learners = either([count, auto, population], (value) =>
  typeof value === 'number' ? 0 : typeof value === 'object' && value !== null ? 2 : 1
)

/**
 * `auto`, a number, JSON, or `@` and a file of JSON. A population schedule may be given as a list, or as the last line of a run with `--json`, which
 * contains the run's schedule.
 */
export const learnersFromText: FromText = (given, refuse) => {
  if (given === 'auto') return given
  const json = given.startsWith('@') ? jsonOrLastLine(fileFromText(given, refuse)) : given
  if (!given.startsWith('@') && !/^[[{]/.test(given)) return wholeFromText(given, refuse)
  const value = jsonFromText(json, refuse)
  if (Array.isArray(value)) return { schedule: value }
  return typeof value === 'object' && value !== null && 'population' in value ? { schedule: value.population } : value
}

function jsonOrLastLine(lines: string): string {
  try {
    JSON.parse(lines)
    return lines
  } catch {
    return lines.slice(lines.lastIndexOf('\n') + 1)
  }
}

export const learnersOptions = {
  /** Samples that a learner takes in a step. */
  batch: option(whole({ min: 1, max: 2 ** 20 }), {
    text: 'samples that a learner takes in a step',
    flag: '--batch <samples>',
    otherwise: 'depends on the model',
    common: true,
    also: ['batchSize', 'batch_size']
  }),
  /**
   * How many learners train together. `auto`, the default: the number is measured during training and changed if another is faster; the samples of each learner
   * then depend on the measurements. With a number, or the schedule of a finished run, they do not.
   */
  learners: option<number | 'auto' | LearnersOptions, CheckedOptions<typeof learners>, 'auto'>(learners, {
    text: 'learners that train together: a number, auto (the fastest number is measured), or a schedule as JSON or @FILE',
    flag: '--learners <count>',
    fromText: learnersFromText,
    takes: 'whole number from 1 to 1024, auto, or an object as below',
    default: 'auto',
    common: true
  }),
  /** Threads of one learner. */
  threads: option(whole({ min: 1, max: 1024 }), { text: 'threads of one learner', flag: '--threads <count>', default: 1 }),
  /** The module of a learner of your own: its URL, or the path of its file. It exports a class or function that takes a LearnerContext. */
  learner: option(moduleUrl('a learner'), {
    text: 'a module that exports a learner of your own (docs/write-a-learner.md)',
    flag: '--learner <file>'
  }),
  /** What every learner gets as its `options`: anything that can be posted to a thread. */
  learnerOptions: option(
    v.pipe(
      v.unknown(),
      v.rawCheck(({ dataset, addIssue }) => {
        const message = postingFault(dataset.value)
        if (message !== undefined) addIssue({ message })
      })
    ),
    {
      text: 'options of the learner of your own',
      flag: '--learner-options <json>',
      fromText: jsonFromText,
      takes: 'anything that can be posted to a thread'
    }
  ),
  /** The module of a supervisor of your own, which takes the place of the built-in one: its class extends `Supervisor` of `arbalest/actors`. */
  supervisor: option(moduleUrl('a supervisor'), { text: 'a module that exports a supervisor of your own (docs/actors-of-a-run.md)' }),
  ...supervisionOptions
}

/** The number of learners: what is known of it beforehand, and the bounds within which it is tuned. */
export interface PopulationSettings {
  readonly schedule: PopulationSchedule
  /** undefined if the number is given. */
  readonly tuning: TuningSettings | undefined
}

export interface TuningSettings {
  readonly most: number
  readonly threshold: number
  /** Seconds of a measuring window. */
  readonly window: number
  /** Learners more or fewer at a time: one for each device. */
  readonly by: number
}

/** What the number of learners depends on. */
export interface PopulationContext {
  readonly threads: number
  readonly devices: readonly DeviceSettings[]
  /** Whether the averaging rule is stable with a number of learners: the tuner does not exceed it. */
  readonly isStable: (learners: number) => boolean
}

export function populationSettings(
  faults: Faults,
  given: CheckedOptions<typeof learners>,
  { threads, devices, isStable }: PopulationContext
): PopulationSettings {
  if (typeof given === 'number') return { schedule: [{ round: 0, learners: given }], tuning: undefined }
  const { schedule, ...bounds } = given === 'auto' ? {} : (given as LearnersOptions)
  if (schedule !== undefined) {
    for (const [name, value] of Object.entries(bounds)) faults.refuse(`learners.${name}`, value, 'leave it out: a schedule is given')
    checkRising(faults, schedule)
    return { schedule, tuning: undefined }
  }
  const cores = Math.max(1, Math.floor(coresOf(devices) / threads))
  const by = devices.length
  const { threshold = THRESHOLD, window = 0.5, initial } = bounds
  const { max: most = Math.min(MOST_LEARNERS, Math.max(MOST_PER_CORE * cores, initial ?? 1)) } = bounds
  if (initial !== undefined && initial > most) faults.refuse('learners.initial', initial, `use a whole number from 1 to ${most}`)
  const even = Math.max(1, Math.floor(cores / by)) * by
  const start = initial ?? Math.min(even, most)
  const stable = Array.from({ length: most }, (_, i) => i + 1).findLast(isStable) ?? 1
  return {
    schedule: [{ round: 0, learners: initial === undefined ? Math.min(start, stable) : start }],
    tuning: { most: Math.max(start, stable), threshold, window, by }
  }
}

/** The cores of all devices. */
function coresOf(devices: readonly DeviceSettings[]): number {
  const own = devices.reduce((sum, { cores }) => sum + cores.length, 0)
  return own === 0 ? usableCores() : Math.min(own, usableCores())
}

function checkRising(faults: Faults, schedule: PopulationSchedule): void {
  for (const [i, { round }] of schedule.entries()) {
    const before = schedule[i - 1]?.round
    if (before === undefined && round !== 0)
      faults.refuse('learners.schedule[0].round', round, 'use 0: the first change is that of the start')
    if (before !== undefined && round <= before)
      faults.refuse(`learners.schedule[${i}].round`, round, `use a whole number of at least ${before + 1}`)
  }
}
