import { usableCores } from '../engine/machine.js'
import type { LearnersOptions, TrainOptions } from './train-options.js'
import { MOST_LEARNERS, type PopulationChange, type PopulationSchedule } from '../schedules/population.js'
import type { DeviceSettings } from './devices.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

/** How many learners train: what is known of it beforehand, and within which bounds it is tuned. */
export interface PopulationSettings {
  readonly schedule: PopulationSchedule
  /** Absent where the number is given. */
  readonly tuning: TuningSettings | undefined
}

export interface TuningSettings {
  readonly most: number
  readonly threshold: number
  /** Seconds of a measuring window. */
  readonly window: number
  /** Learners more or fewer at a time: one a device. */
  readonly by: number
}

const NAMES: OptionNames<LearnersOptions> = { initial: true, max: true, threshold: true, window: true, schedule: true }
const CHANGE: OptionNames<PopulationChange> = { round: true, learners: true }

const WINDOW = 0.5

/** Nobody shall miss more than 5% of the best throughput, and estimates err by about one. */
export const THRESHOLD = 0.04

/** Learners beyond the cores fill the gaps that the others leave, and no more: so many a core are tried. */
const MOST_A_CORE = 3

/** `isSound` says whether the averaging rule is stable with so many learners: the tuner goes no further. */
export function learnersSettings(
  checks: OptionChecks,
  given: TrainOptions['learners'],
  { threads, devices, isSound }: { threads: number; devices: readonly DeviceSettings[]; isSound: (learners: number) => boolean }
): PopulationSettings {
  if (typeof given === 'number') return fixed(checks.whole('learners', given, 1, MOST_LEARNERS))
  if (given !== undefined && given !== 'auto' && (typeof given !== 'object' || given === null || Array.isArray(given))) {
    checks.refuse('learners', given, "use 'auto', a whole number, or an object with a schedule or with bounds")
    return fixed(1)
  }
  const options = checks.group('learners', given === 'auto' ? undefined : given, NAMES)
  if (options.schedule !== undefined) {
    for (const other of ['initial', 'max', 'threshold', 'window'] as const)
      if (options[other] !== undefined) checks.refuse(`learners.${other}`, options[other], 'leave it out where a schedule is given')
    return { schedule: checkedSchedule(checks, options.schedule), tuning: undefined }
  }
  const cores = Math.max(1, Math.floor(coresOf(devices) / threads))
  const by = devices.length
  const even = (learners: number) => Math.max(1, Math.floor(learners / by)) * by
  const asked = options.initial === undefined ? undefined : checks.whole('learners.initial', options.initial, 1, MOST_LEARNERS)
  const most = checks.whole(
    'learners.max',
    options.max ?? Math.min(MOST_LEARNERS, Math.max(MOST_A_CORE * cores, asked ?? 1)),
    1,
    MOST_LEARNERS
  )
  // A bound that was refused bounds nothing.
  const bound = options.max === undefined || options.max === most ? most : MOST_LEARNERS
  const start = checks.whole('learners.initial', asked ?? Math.min(even(cores), most), 1, bound)
  const sound = Array.from({ length: most }, (_, i) => i + 1).findLast(isSound) ?? 1
  return {
    schedule: [{ round: 0, learners: options.initial === undefined ? Math.min(start, sound) : start }],
    tuning: {
      most: Math.max(start, sound),
      threshold: checks.real(
        'learners.threshold',
        options.threshold ?? THRESHOLD,
        'above 0 and below 1',
        (value) => value > 0 && value < 1
      ),
      window: checks.real('learners.window', options.window ?? WINDOW, 'of seconds above 0', (value) => value > 0),
      by
    }
  }
}

/** That all devices have together. */
function coresOf(devices: readonly DeviceSettings[]): number {
  const own = devices.reduce((sum, { cores }) => sum + cores.length, 0)
  return own === 0 ? usableCores() : Math.min(own, usableCores())
}

function fixed(learners: number): PopulationSettings {
  return { schedule: [{ round: 0, learners }], tuning: undefined }
}

function checkedSchedule(checks: OptionChecks, given: unknown): PopulationSchedule {
  if (!Array.isArray(given) || given.length === 0) {
    checks.refuse('learners.schedule', given, 'give a list of changes, such as [{ round: 0, learners: 2 }, { round: 100, learners: 3 }]')
    return [{ round: 0, learners: 1 }]
  }
  let least = 0
  return given.map((each: PopulationChange, i) => {
    const path = `learners.schedule[${i}]`
    const change = checks.group(path, each, CHANGE)
    const round = checks.whole(`${path}.round`, change.round, least, i === 0 ? 0 : Number.MAX_SAFE_INTEGER)
    least = round + 1
    return { round, learners: checks.whole(`${path}.learners`, change.learners, 1, MOST_LEARNERS) }
  })
}
